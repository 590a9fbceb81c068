package merge

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// testSpill returns a Spill for the merged runs.
func testSpill(t *testing.T, k *format.Keyer, store spill.Store) *spill.Spill {
	t.Helper()
	s, err := spill.New(spill.Options{Store: store, Folders: []string{t.TempDir()}, Codec: "none", Keyer: k, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// fullStore is a Disk with room for a single block.
type fullStore struct {
	spill.Disk
	written, released atomic.Int32
}

var errFull = errors.New("disk full")

func (s *fullStore) Create(folder string) (spill.File, error) {
	file, err := s.Disk.Create(folder)
	return &fullFile{file, s}, err
}

type fullFile struct {
	spill.File
	store *fullStore
}

func (f *fullFile) WriteAt(p []byte, off int64) (int, error) {
	if f.store.written.Add(1) > 1 {
		return 0, errFull
	}
	return f.File.WriteAt(p, off)
}

func (f *fullFile) Release(off, bytes int64) { f.store.released.Add(1) }

func TestReduce(t *testing.T) {
	l := formattest.Fields(t, 16, "0:u8")
	k := formattest.KeyerOf(t, l)
	for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 30} {
		for _, fanIn := range []int{2, 3, 4, 8} {
			runs, want := sortedParts(k, parts(l, shapes[0].fill, n, 100, rand.New(rand.NewPCG(8, uint64(n)))))
			opt := Options{Keyer: k, Workers: 2, BlockBytes: 800, Limit: -1}
			left, err := Reduce(t.Context(), opt, memoryRuns(k, runs, 32), fanIn, testSpill(t, k, nil).NewMerged)
			if err != nil || len(left) > fanIn || n > fanIn && len(left) != fanIn {
				t.Fatalf("%d runs with fan-in %d: %d left, %v", n, fanIn, len(left), err)
			}
			out := newCollector(k, 800)
			if err := Merge(context.Background(), opt, left, out); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Written(t), want) {
				t.Errorf("%d runs with fan-in %d: wrong order", n, fanIn)
			}
		}
	}
}

func TestReduceMovesLittle(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Bare(t, "u8"))
	var runs []*spill.Run
	for _, n := range []int{900, 5, 900, 3, 4, 900} {
		runs = append(runs, spill.MemoryRun(k, make([]byte, n), 100))
	}
	if from, to := nextGroup(runs, plan.MergeGroup(len(runs), 5)); from != 3 || to != 5 {
		t.Errorf("runs %d to %d are merged first; 3 to 5 are the smallest pair", from, to)
	}
}

// TestReduceKeepsRunsOnError makes the second block of a merged run fail to write. The two
// original runs must stay, and the space of the partial run must be released.
func TestReduceKeepsRunsOnError(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Bare(t, "u8"))
	runs := memoryRuns(k, [][]byte{{1}, {2}, {3}}, 1)
	store := &fullStore{}
	opt := Options{Keyer: k, Workers: 1, BlockBytes: 1, Limit: -1}
	left, err := Reduce(t.Context(), opt, runs, 2, testSpill(t, k, store).NewMerged)
	if !errors.Is(err, errFull) || len(left) != 3 || store.released.Load() != 1 {
		t.Errorf("%d runs left, %d blocks given back, %v", len(left), store.released.Load(), err)
	}
	if _, err := Reduce(t.Context(), opt, runs, 1, nil); err == nil {
		t.Error("a fan-in of 1 was accepted")
	}
}

// TestMergeLevelsNamesTheInput checks that the error names the input that is out of order, in
// whichever merge it is found.
func TestMergeLevelsNamesTheInput(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Bare(t, "u8"))
	for bad := range 7 {
		parts := [][]byte{{1, 2}, {1}, {1}, {1, 2, 3, 4}, {1, 2, 3}, {5, 6}, {7, 8, 9, 9, 9, 9, 9, 9}}
		parts[bad] = append(parts[bad], 0)
		opt := Options{Keyer: k, Workers: 2, BlockBytes: 800, Limit: -1, CheckOrder: true}
		newRun := testSpill(t, k, nil).NewMerged
		_, err := MergeLevels(t.Context(), opt, memoryRuns(k, parts, 32), 3, newRun, newCollector(k, 800))
		var disorder *DisorderError
		if !errors.As(err, &disorder) ||
			disorder.Input != bad || disorder.Record != int64(len(parts[bad])-1) {
			t.Errorf("input %d is out of order, the error is %v", bad, err)
		}
	}
}
