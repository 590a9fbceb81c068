//go:build unix

package output

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestLeftoversAreRemoved puts files into the directory as killed processes leave them. It adds
// others that must stay: of a running process, of other outputs, with unknown names, and special
// files.
func TestLeftoversAreRemoved(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "out")
	known := (&naming{base: "out", resumable: new(Resumable)}).tempName
	other := (&naming{base: "other", resumable: new(Resumable)}).tempName(0)
	random := (&naming{base: "out", resumable: new(Resumable), unlocked: true}).tempName(0)
	stay := []string{"target", known(1), known(2), known(3), known(4), other, random}
	for _, file := range []string{"target", known(0), known(1), known(5), known(knownNames - 1), other, random} {
		testfiles.Write(t, filepath.Join(folder, file), []byte("x"))
	}
	alive := testfiles.Open(t, filepath.Join(folder, known(1)), os.O_WRONLY)
	err := errors.Join(lock(alive), os.Symlink("target", filepath.Join(folder, known(2))),
		os.Mkdir(filepath.Join(folder, known(3)), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	makeFIFO(t, filepath.Join(folder, known(4)))
	o := openOutput(t, name, FileOptions{})
	if err := o.Abort(); err != nil {
		t.Error(err)
	}
	left := testfiles.Names(t, folder)
	slices.Sort(left)
	if slices.Sort(stay); !slices.Equal(left, stay) {
		t.Errorf("the folder has\n%q, want\n%q", left, stay)
	}
}

// TestKilledRunsLeaveNoNames ends runs as SIGKILL does, while the file has a temporary name. The
// next run must clean up.
func TestKilledRunsLeaveNoNames(t *testing.T) {
	for _, named := range []bool{true, false} {
		name := filepath.Join(t.TempDir(), "out")
		testfiles.Write(t, name, []byte("old"))
		killed := openFile(t, name, FileOptions{Fault: func(operation string) error {
			if named && operation == "create output" {
				return errors.ErrUnsupported
			}
			return nil
		}})
		var err error
		if !named {
			err = killed.naming.linkTemp(killed.file)
		}
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("no files without a name here")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := writeThree(name, nil); err != nil {
			t.Fatal(err)
		}
		if left := testfiles.Names(t, filepath.Dir(name)); len(left) != 2 {
			t.Errorf("named %t: beside a run that lives the folder has %q", named, left)
		}
		killed.file.Close()
		killed.naming.close()
		if err := writeThree(name, nil); err != nil {
			t.Fatal(err)
		}
		if left := testfiles.Names(t, filepath.Dir(name)); len(left) != 1 || content(t, name) != writtenThree {
			t.Errorf("named %t: after the kill the folder has %q", named, left)
		}
	}
}

// TestOutputsToOneName writes the same output from several goroutines at once. Each of them looks
// for leftovers while the others are writing.
func TestOutputsToOneName(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out")
	done := make(chan error)
	const writers = 6
	for range writers {
		go func() {
			var err error
			for range 50 {
				err = errors.Join(err, writeThree(name, (&faults{named: true, failAt: -1}).step))
			}
			done <- err
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if left := testfiles.Names(t, filepath.Dir(name)); len(left) != 1 || content(t, name) != writtenThree {
		t.Errorf("the folder has %q", left)
	}
}
