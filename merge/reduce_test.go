package merge

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
)

// memoryWriter is a RunWriter that keeps its run in memory.
type memoryWriter struct {
	*collector
	k       *format.Keyer
	aborted *int
	fault   error // of Finish
}

func (w memoryWriter) Finish() (*spill.Run, error) {
	return spill.MemoryRun(w.k, w.recs, 32), w.fault
}

func (w memoryWriter) Abort() error {
	*w.aborted++
	return nil
}

func TestReduce(t *testing.T) {
	l := fields(t, 16, "0:u8")
	k := keyer(t, l)
	for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 30} {
		for _, fanIn := range []int{2, 3, 4, 8} {
			runs, want := sortedParts(k, parts(l, shapes[0].fill, n, 100, rand.New(rand.NewPCG(8, uint64(n)))))
			aborted := 0
			opt := Options{Keyer: k, Workers: 2, BlockBytes: 800, Limit: -1}
			newRun := func() (RunWriter, error) {
				return memoryWriter{collector: newCollector(k, 800), k: k, aborted: &aborted}, nil
			}
			left, _, err := reduce(context.Background(), opt, memoryRuns(k, runs, 32), fanIn, newRun)
			if err != nil || len(left) > fanIn || n > fanIn && len(left) != fanIn || aborted > 0 {
				t.Fatalf("%d runs with fan-in %d: %d left, %v", n, fanIn, len(left), err)
			}
			out := newCollector(k, 800)
			if err := Merge(context.Background(), opt, left, out); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.result(t), want) {
				t.Errorf("%d runs with fan-in %d: wrong order", n, fanIn)
			}
		}
	}
}

func TestReduceMovesLittle(t *testing.T) {
	k := keyer(t, bare(t, "u8"))
	var runs []*spill.Run
	for _, n := range []int{900, 5, 900, 3, 4, 900} {
		runs = append(runs, spill.MemoryRun(k, make([]byte, n), 100))
	}
	if from, to := nextGroup(runs, 5); from != 3 || to != 5 {
		t.Errorf("runs %d to %d are merged first; 3 to 5 are the smallest pair", from, to)
	}
}

func TestReduceKeepsRunsOnError(t *testing.T) {
	k := keyer(t, bare(t, "u8"))
	runs := memoryRuns(k, [][]byte{{1}, {2}, {3}}, 1)
	aborted := 0
	full := errors.New("disk full")
	left, _, err := reduce(context.Background(), Options{Keyer: k, Limit: -1}, runs, 2, func() (RunWriter, error) {
		return memoryWriter{collector: newCollector(k, 800), k: k, aborted: &aborted, fault: full}, nil
	})
	if !errors.Is(err, full) || len(left) != 3 || aborted != 1 {
		t.Errorf("%d runs left, %d writers aborted, %v", len(left), aborted, err)
	}
	if _, _, err := reduce(context.Background(), Options{Keyer: k, Limit: -1}, runs, 1, nil); err == nil {
		t.Error("a fan-in of 1 was accepted")
	}
}

// TestMergeLevelsNamesTheInput looks for an input out of order whenever it is merged.
func TestMergeLevelsNamesTheInput(t *testing.T) {
	k := keyer(t, bare(t, "u8"))
	for bad := range 7 {
		parts := [][]byte{{1, 2}, {1}, {1}, {1, 2, 3, 4}, {1, 2, 3}, {5, 6}, {7, 8, 9, 9, 9, 9, 9, 9}}
		parts[bad] = append(parts[bad], 0)
		aborted := 0
		opt := Options{Keyer: k, Limit: -1, CheckOrder: true}
		_, err := MergeLevels(t.Context(), opt, memoryRuns(k, parts, 32), 3, func() (RunWriter, error) {
			return memoryWriter{collector: newCollector(k, 800), k: k, aborted: &aborted}, nil
		}, newCollector(k, 800))
		var disorder *DisorderError
		if !errors.As(err, &disorder) || *disorder != (DisorderError{bad, int64(len(parts[bad]) - 1)}) {
			t.Errorf("input %d is out of order, the error is %v", bad, err)
		}
	}
}
