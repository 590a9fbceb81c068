//go:build unix

package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestOutputThroughLinkedFolders uses ".." after symbolic links to directories, where it means
// the parent of their targets.
func TestOutputThroughLinkedFolders(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return folder + "/" + name } // not cleaned
	for _, err := range []error{
		os.MkdirAll(at("parent/child"), 0o700), os.Mkdir(at("other"), 0o700),
		os.Symlink(at("parent/child"), at("other/link")), os.Symlink("../real", at("parent/child/out")),
		os.WriteFile(at("parent/real"), []byte("old"), 0o600),
		os.WriteFile(at("other/real"), []byte("not this"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"other/link/out", "other/link/../new"} {
		if err := writeThree(at(name), nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{
		"parent/real": writtenThree, "other/real": "not this", "parent/new": writtenThree,
	} {
		if got := content(t, at(name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if err := writeThree(at("missing/out"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is missing: %v", err)
	}
}

// TestOutputToDescriptor writes to a descriptor that the user has redirected to a file, in append
// mode.
func TestOutputToDescriptor(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	testfiles.Write(t, name, []byte("kept "))
	file := testfiles.Open(t, name, os.O_WRONLY|os.O_APPEND)
	o := openOutput(t, fmt.Sprintf("/dev/fd/%d", file.Fd()), FileOptions{})
	if _, isStream := o.(*stream); !isStream {
		t.Errorf("a descriptor is a %T", o)
	}
	if _, err := o.Write([]byte("new")); err != nil {
		t.Error(err)
	}
	if err := o.Commit(t.Context(), -1); err != nil {
		t.Error(err)
	}
	if _, err := file.WriteString(" end"); err != nil {
		t.Errorf("the user's descriptor: %v", err)
	}
	if got := content(t, name); got != "kept new end" {
		t.Errorf("%q, want %q", got, "kept new end")
	}
}

// TestOutputKeepsOwner replaces a file of another user, who stays its owner.
func TestOutputKeepsOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may give files away")
	}
	name := filepath.Join(t.TempDir(), "out")
	testfiles.Write(t, name, []byte("old"))
	if err := os.Chown(name, 65534, 65533); err != nil {
		t.Fatal(err)
	}
	if err := writeThree(name, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	if stat.Uid != 65534 || stat.Gid != 65533 || info.Mode().Perm() != 0o600 || content(t, name) != writtenThree {
		t.Errorf("of %d and %d, %v, want 65534 and 65533, -rw-------", stat.Uid, stat.Gid, info.Mode())
	}
}

// TestOutputIgnoresSwappedFolder replaces the directory of an output while the output is written.
// The output must appear in the original directory.
func TestOutputIgnoresSwappedFolder(t *testing.T) {
	for _, named := range []bool{false, true} {
		for _, exists := range []bool{false, true} {
			folder, moved := filepath.Join(t.TempDir(), "folder"), filepath.Join(t.TempDir(), "moved")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(folder, "out")
			if exists {
				testfiles.Write(t, name, []byte("old"))
			}
			o := openOutput(t, name, FileOptions{Fault: (&faults{named: named, failAt: -1}).step})
			_, err := o.Write([]byte("new"))
			moving := errors.Join(err, os.Rename(folder, moved), os.Mkdir(folder, 0o700))
			if err := errors.Join(moving, o.Commit(t.Context(), -1)); err != nil {
				t.Fatal(err)
			}
			left := testfiles.Names(t, folder)
			if got := content(t, filepath.Join(moved, "out")); got != "new" || len(left) > 0 {
				t.Errorf("named %t, exists %t: %q, and the other folder has %q", named, exists, got, left)
			}
		}
	}
}

// TestStreamReportsClosing checks that Commit reports errors of closing even if the file stays
// open. A network file system may report failed writes only then.
func TestStreamReportsClosing(t *testing.T) {
	o, err := Open(t.Context(), "/dev/stdout", FileOptions{Fault: func(operation string) error {
		if operation == "close output" {
			return errInjected
		}
		return nil
	}})
	if err != nil {
		t.Skip(err)
	}
	err = o.Commit(t.Context(), -1)
	if !errors.Is(err, errInjected) {
		t.Errorf("standard output: %v", err)
	}
	file := testfiles.Create(t, filepath.Join(t.TempDir(), "out"))
	commit := func() error {
		sink, err := NewSink(t.Context(), file, Options{RecordSize: 1, Records: 0})
		return errors.Join(err, sink.Commit(t.Context(), 0))
	}
	if _, err := file.WriteString("x"); err != nil || commit() != nil {
		t.Error("a file that is open:", err)
	}
	if _, err := file.WriteString("y"); err != nil {
		t.Error("the file does not stay open:", err)
	}
	file.Close()
	if err := commit(); err == nil {
		t.Error("a file that is closed: no error")
	}
}
