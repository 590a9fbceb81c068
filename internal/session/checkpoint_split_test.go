package session

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// namingStep is the state of a sort before an operation on the file system, as a kill would leave
// it.
type namingStep struct {
	operation     string
	outputs, runs string // copies of the two directories
}

// TestKilledWhileNaming kills a sort with a checkpoint before each operation after all files of
// its set are written. An index always belongs to a complete set, the old or the new one, and the
// same command always makes the new one.
func TestKilledWhileNaming(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	r := seeded(t)
	for _, hasOld := range []bool{false, true} {
		data := k.make(t, "uniform", 1500, r)
		opt := keptSort(t, k, data, Options{Workers: 1})
		want := reference(t, k.layout(t), data, opt)
		opt.SplitFiles = 3
		folder := filepath.Dir(opt.Output)

		var old []byte
		if hasOld {
			recs := k.make(t, "uniform", 300, r)
			first := Options{Record: k.spec, Inputs: []string{writeFile(t, recs)}, Output: opt.Output, SplitFiles: 5}
			old = reference(t, k.layout(t), recs, first)
			if _, err := Sort(t.Context(), first); err != nil {
				t.Fatal(err)
			}
		}

		steps := namingSteps(t, opt)
		incomplete := 0
		for i, step := range steps {
			restore(t, folder, step.outputs)
			restore(t, opt.Checkpoint, step.runs)
			if _, err := os.Stat(opt.Output + ".index"); err == nil {
				all := slices.Concat(splitFiles(t, opt.Output)...)
				if !bytes.Equal(all, want) && (!hasOld || !bytes.Equal(all, old)) {
					t.Errorf("killed before operation %d (%s): an index of %d bytes that are of no set", i,
						step.operation, len(all))
				}
			} else {
				incomplete++
			}

			if _, err := Sort(t.Context(), opt); err != nil {
				t.Errorf("killed before operation %d (%s): %v", i, step.operation, err)
				continue
			}
			if all := slices.Concat(splitFiles(t, opt.Output)...); !bytes.Equal(all, want) {
				t.Errorf("killed before operation %d (%s): the set has %d other bytes", i, step.operation, len(all))
			}
			if _, err := os.Stat(opt.Checkpoint); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("killed before operation %d (%s): the checkpoint is still there: %v", i, step.operation, err)
			}
			left := slices.DeleteFunc(testfiles.Names(t, folder), func(name string) bool {
				return strings.Contains(name, ".extsort-")
			})
			if !slices.Equal(left, []string{"out.000", "out.001", "out.002", "out.index"}) {
				t.Errorf("killed before operation %d (%s): the directory has %q", i, step.operation, left)
			}
		}
		if len(steps) < 12 || incomplete == 0 {
			t.Errorf("%d operations were looked at, and the set was incomplete before %d", len(steps), incomplete)
		}
	}
}

// namingSteps runs a sort and copies all files before each operation after the first sync of a
// file.
func namingSteps(t *testing.T, opt Options) (steps []namingStep) {
	t.Helper()
	var mu sync.Mutex // files are finished by several goroutines
	synced := false
	opt.faults.output = func(operation string) error {
		mu.Lock()
		defer mu.Unlock()
		synced = synced || operation == "sync output"
		if !synced {
			return nil
		}
		step, err := copyStep(t, operation, opt)
		// Another goroutine may rename a file between the listing and the copy of it.
		for range 100 {
			if !errors.Is(err, os.ErrNotExist) {
				break
			}
			step, err = copyStep(t, operation, opt)
		}
		steps = append(steps, step)
		return err
	}
	if _, err := Sort(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	return steps
}

// copyStep copies the directories of the output and of the checkpoint.
func copyStep(t *testing.T, operation string, opt Options) (namingStep, error) {
	copies := t.TempDir()
	step := namingStep{
		operation: operation,
		outputs:   filepath.Join(copies, "outputs"),
		runs:      filepath.Join(copies, "runs"),
	}
	return step, errors.Join(
		os.CopyFS(step.outputs, os.DirFS(filepath.Dir(opt.Output))),
		copyCheckpoint(step.runs, opt.Checkpoint),
	)
}

// restore replaces the contents of a directory with a copy.
func restore(t *testing.T, folder, from string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(from))); err != nil {
		t.Fatal(err)
	}
}
