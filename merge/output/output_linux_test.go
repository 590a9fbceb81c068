package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/internal/testfiles"
)

const nobody = 65534

// asNobody opens an output with the rights of the user nobody. It changes the user of one thread,
// which ends with the goroutine.
func asNobody(t *testing.T, name string) (err error) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = unix.Setfsuid(nobody); err != nil {
			return
		}
		var o Output
		if o, err = Open(t.Context(), name, FileOptions{}); err == nil {
			err = o.Abort()
		}
	}()
	<-done
	return err
}

// publicFolder returns a directory with the given mode that every user can reach.
func publicFolder(t *testing.T, mode fs.FileMode) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "extsort-test-")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(folder) })
		err = os.Chmod(folder, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestOutputToForbiddenFolder checks that Open fails if the directory may not be searched or
// written to. The directory need not be readable.
func TestOutputToForbiddenFolder(t *testing.T) {
	for mode, allowed := range map[fs.FileMode]bool{
		0o733: true, 0o777: true, 0o711: false, 0o722: false, 0o744: false, 0o755: false, 0o766: false,
	} {
		folder := publicFolder(t, mode)
		err := asNobody(t, filepath.Join(folder, "out"))
		if allowed && err != nil || !allowed && !errors.Is(err, fs.ErrPermission) {
			t.Errorf("mode %v: %v", mode, err)
		}
		if left := testfiles.Names(t, folder); len(left) > 0 {
			t.Errorf("mode %v: the folder has %q", mode, left)
		}
	}
}

// TestOutputInStickyFolder checks that Open fails if another user's file cannot be replaced, and
// that this file stays unchanged.
func TestOutputInStickyFolder(t *testing.T) {
	for mode, replaceable := range map[fs.FileMode]bool{0o777: true, 0o777 | fs.ModeSticky: false} {
		folder := publicFolder(t, mode)
		name := filepath.Join(folder, "out")
		if err := errors.Join(os.WriteFile(name, []byte("old"), 0o600), os.Chmod(name, 0o666)); err != nil {
			t.Fatal(err)
		}
		err := asNobody(t, name)
		refused := errors.Is(err, fs.ErrPermission) && strings.Contains(err.Error(), "sticky")
		if refused == replaceable || replaceable && err != nil {
			t.Errorf("mode %v: %v", mode, err)
		}
		if left := testfiles.Names(t, folder); content(t, name) != "old" || len(left) != 1 {
			t.Errorf("mode %v: the folder has %q, and the output %q", mode, left, content(t, name))
		}
	}
}

// TestOutputIsLinkedToItsName checks that a new output never has a temporary name, which a killed
// process would leave behind.
func TestOutputIsLinkedToItsName(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	var done []string
	err := writeThree(name, func(operation string) error {
		done = append(done, operation)
		return nil
	})
	if slices.Contains(done, "open output") {
		t.Skip("no files without a name here")
	}
	if err != nil || content(t, name) != writtenThree || slices.Contains(done, "rename output") {
		t.Errorf("%v after %q", err, done)
	}
}
