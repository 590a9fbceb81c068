package output

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// writeBundle writes three files as a bundle.
func writeBundle(ctx context.Context, folder string, fault func(operation string) error) error {
	b := &Bundle{}
	for i := range 3 {
		name := filepath.Join(folder, fmt.Sprint(i))
		out, err := Open(ctx, name, FileOptions{Fault: fault, Bundle: b})
		if err == nil {
			if _, err = out.Write([]byte("new")); err == nil {
				err = out.Commit(ctx, -1)
			} else {
				err = errors.Join(err, out.Abort())
			}
		}
		if err != nil {
			return errors.Join(err, b.Abort())
		}
	}
	return b.Commit(ctx)
}

// TestCancelledBundle cancels a bundle in each operation. After an error, no file has changed.
func TestCancelledBundle(t *testing.T) {
	for cancelAt := 0; ; cancelAt++ {
		folder := t.TempDir()
		testfiles.Write(t, filepath.Join(folder, "1"), []byte("old"))
		ctx, cancel := context.WithCancelCause(t.Context())
		count := 0
		at := ""
		err := writeBundle(ctx, folder, func(operation string) error {
			if count++; count == cancelAt+1 {
				at = operation
				cancel(errInjected)
			}
			return nil
		})
		cancel(nil)
		checkBundle(t, fmt.Sprintf("cancelled in operation %d, %q: %v", cancelAt, at, err), folder, []int{1}, err == nil)
		if at == "" {
			break
		}
	}
}

// TestBundle fails each operation of a bundle. After an error, no file has changed, unless only the
// end failed, when all are complete. No other file is left.
func TestBundle(t *testing.T) {
	injected := errors.New("injected")
	for name, c := range map[string]struct {
		old    []int // the files that exist before
		unable error // the error of links to old files
	}{
		"new files":      {},
		"old files":      {old: []int{0, 1, 2}},
		"one old file":   {old: []int{1}},
		"too many names": {old: []int{1}, unable: syscall.EMLINK},
		"no links":       {old: []int{2}, unable: syscall.EXDEV},
	} {
		failures, ended := 0, false
		for failAt := 0; !ended; failAt++ {
			folder := t.TempDir()
			for _, i := range c.old {
				testfiles.Write(t, filepath.Join(folder, fmt.Sprint(i)), []byte("old"))
			}
			operations, failed := 0, ""
			err := writeBundle(t.Context(), folder, func(operation string) error {
				if operations++; operations == failAt+1 {
					failed = operation
					return injected
				}
				if operation == "keep old output" && c.unable != nil {
					return c.unable
				}
				return nil
			})
			ended = failed == ""
			if ended && err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if err != nil {
				failures++
			}
			renamed := failed == "sync directory" || failed == "close output"
			wasLost := c.unable != nil && (failed == "rename output" || failed == "keep old output")
			if !wasLost {
				checkBundle(t, fmt.Sprintf("%s: operation %d, %q: %v", name, failAt, failed, err), folder, c.old,
					ended || renamed || err == nil)
			}
		}
		if failures < 10 {
			t.Errorf("%s: only %d operations failed", name, failures)
		}
	}
}

// TestVanished opens an output whose old file vanishes after it has been seen, as when another
// process replaces a set.
func TestVanished(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	testfiles.Write(t, name, []byte("old"))
	out, err := Open(t.Context(), name, FileOptions{Fault: func(operation string) error {
		if operation == "open output" {
			return os.Remove(name)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(t.Context(), -1); err != nil || content(t, name) != "new" {
		t.Errorf("%v; the file has %q", err, content(t, name))
	}
}

// checkBundle checks that all files of a bundle are new, or that none is.
func checkBundle(t *testing.T, what, folder string, old []int, isNew bool) {
	t.Helper()
	want := map[string]string{}
	for _, i := range old {
		want[fmt.Sprint(i)] = "old"
	}
	if isNew {
		want = map[string]string{"0": "new", "1": "new", "2": "new"}
	}
	found := testfiles.Names(t, folder)
	if len(found) != len(want) {
		t.Errorf("%s: the files are %q", what, found)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(got) != text {
			t.Errorf("%s: %s has %q, %v; want %q", what, name, got, err, text)
		}
	}
}
