package merge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// generated returns n records of a distribution.
func generated(t *testing.T, l format.Layout, dist string, n int, r *rand.Rand) []byte {
	t.Helper()
	g := formattest.Generator(t, l, dist, r.Uint64(), int64(n))
	recs := make([]byte, n*l.RecordSize)
	g.Fill(recs, 0)
	return recs
}

// sortedInputs returns inputs in memory, and counts the records that are read.
func sortedInputs(runs [][]byte, size int, reads *atomic.Int64) (inputs []Sorted) {
	for _, run := range runs {
		inputs = append(inputs, Sorted{int64(len(run) / size), func(p []byte, first int64) error {
			reads.Add(int64(len(p) / size))
			copy(p, run[int(first)*size:])
			return nil
		}})
	}
	return inputs
}

// placed is one record in the order of a merge.
type placed struct {
	key       []byte
	input, at int
}

func inMergeOrder(k *format.Keyer, runs [][]byte) (all []placed) {
	size := k.Layout().RecordSize
	for i, run := range runs {
		for at := 0; at*size < len(run); at++ {
			all = append(all, placed{k.Append(nil, run[at*size:(at+1)*size]), i, at})
		}
	}
	slices.SortFunc(all, func(a, b placed) int {
		return cmp.Or(bytes.Compare(a.key, b.key), a.input-b.input, a.at-b.at)
	})
	return all
}

// TestCutsAreExact compares the cuts of 1 to 64 inputs into 1 to 64 parts with the order of all
// records, for any keys. It also checks how many records were read.
func TestCutsAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 1))
	for _, l := range []format.Layout{
		formattest.Bare(t, "u64"), formattest.Bare(t, "u8"), formattest.Fields(t, 16, "8:u64be:desc", "0:u16"),
	} {
		k := formattest.KeyerOf(t, l)
		for _, dist := range []string{"uniform", "zipf", "few", "equal", "sorted"} {
			for _, fanIn := range []int{1, 2, 3, 7, 64} {
				for _, parts := range []int{1, 2, 5, 64} {
					testCuts(t, k, dist, fanIn, parts, r)
				}
			}
		}
	}
}

func testCuts(t *testing.T, k *format.Keyer, dist string, fanIn, parts int, r *rand.Rand) {
	t.Helper()
	size := k.Layout().RecordSize
	recs := generated(t, k.Layout(), dist, r.IntN(3000), r)
	runs := make([][]byte, fanIn)
	for i := range runs {
		n := len(recs) / size
		if i < fanIn-1 {
			n = min(r.IntN(2*n/(fanIn-i)+1), n)
		}
		runs[i], recs = formattest.Sorted(k, recs[:n*size]), recs[n*size:]
	}
	all := inMergeOrder(k, runs)
	var ranks []int64
	for p := range parts + 1 {
		ranks = append(ranks, int64(len(all)*p/parts))
	}
	var reads atomic.Int64
	for _, wholeKeys := range []bool{false, true} {
		reads.Store(0)
		cuts, err := Cuts(t.Context(), k, sortedInputs(runs, size, &reads), ranks, wholeKeys)
		if err != nil {
			t.Fatal(err)
		}
		if n := reads.Load(); n > int64(64*fanIn*parts) {
			t.Errorf("%s, %d inputs, %d parts: %d records were read", dist, fanIn, parts, n)
		}
		for i, cut := range cuts {
			end := int(ranks[i])
			for wholeKeys && end > 0 && end < len(all) && bytes.Equal(all[end].key, all[end-1].key) {
				end++
			}
			want := make([]int64, fanIn)
			for _, p := range all[:end] {
				want[p.input]++
			}
			if !slices.Equal(cut, want) {
				t.Fatalf("%s, %d inputs, whole keys %t, rank %d of %d: %v, want %v", dist, fanIn, wholeKeys, ranks[i],
					len(all), cut, want)
			}
		}
	}
}

// TestCutsOfUnsorted checks that cuts of unsorted inputs contain the number of records that their
// rank requires, and that disorder at a cut is reported.
func TestCutsOfUnsorted(t *testing.T) {
	k, r := formattest.KeyerOf(t, formattest.Bare(t, "u8")), rand.New(rand.NewPCG(28, 2))
	for range 200 {
		runs := [][]byte{{}, {}, {}}
		for i := range 100 {
			run := &runs[r.IntN(3)]
			*run = append(*run, byte(r.Uint32()), byte(i))
		}
		var reads atomic.Int64
		inputs := sortedInputs(runs, 1, &reads)
		all := inputs[0].Records + inputs[1].Records + inputs[2].Records
		rank := r.Int64N(all + 1)
		cuts, err := Cuts(t.Context(), k, inputs, []int64{rank}, false)
		if err != nil || cuts[0][0]+cuts[0][1]+cuts[0][2] != rank {
			t.Fatalf("rank %d: %v, %v", rank, cuts, err)
		}
	}
	var reads atomic.Int64
	inputs := sortedInputs([][]byte{{1, 2, 3}, {3, 2, 3}}, 1, &reads)
	disorder, ok := errors.AsType[*DisorderError](CheckCut(t.Context(), k, inputs, []int64{1, 1}))
	if !ok || disorder.Input != 1 || disorder.Record != 1 {
		t.Errorf("disorder at a cut: %v", disorder)
	}
	if err := CheckCut(t.Context(), k, inputs, []int64{3, 2}); err != nil {
		t.Error(err)
	}
}

// TestCutsFail checks that Cuts returns the error of a failed read, and that no goroutine is left
// waiting.
func TestCutsFail(t *testing.T) {
	k, broken := formattest.KeyerOf(t, formattest.Bare(t, "u8")), errors.New("broken")
	inputs := []Sorted{{10, func([]byte, int64) error { return broken }}}
	for _, wholeKeys := range []bool{false, true} {
		if _, err := Cuts(t.Context(), k, inputs, []int64{5}, wholeKeys); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
	}
	if err := CheckCut(t.Context(), k, inputs, []int64{5}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Cuts(ctx, k, inputs, []int64{5}, false); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestWithinKeepsAPage probes a range as a binary search does. As long as the probes stay within a
// page, it is read only once. A failed read is repeated.
func TestWithinKeepsAPage(t *testing.T) {
	run := make([]byte, 200)
	for i := range run {
		run[i] = byte(i)
	}
	broken, reads := errors.New("broken"), 0
	var fails error
	in := Sorted{200, func(p []byte, first int64) error {
		reads++
		copy(p, run[first:])
		return fails
	}}
	for _, page := range []int64{1, 8, 1000} {
		within, b := in.Within(50, 178, page), make([]byte, 1)
		reads, fails = 0, broken
		if err := within.ReadRecords(b, 3); !errors.Is(err, broken) || within.Records != 128 {
			t.Errorf("%v of %d", err, within.Records)
		}
		reads, fails = 0, nil
		for low, high := int64(0), int64(128); low < high; {
			at := low + (high-low)/2
			if err := within.ReadRecords(b, at); err != nil || b[0] != byte(50+at) {
				t.Fatalf("record %d is %d, %v", at, b[0], err)
			}
			if at < 99 {
				low = at + 1
			} else {
				high = at
			}
		}
		if want := map[int64]int{1: 7, 8: 5, 1000: 1}[page]; reads > want+1 || page > 8 && reads != 1 {
			t.Errorf("pages of %d: %d reads", page, reads)
		}
		for at := range within.Records {
			if err := within.ReadRecords(b, at); err != nil || b[0] != byte(50+at) {
				t.Fatalf("record %d is %d, %v", at, b[0], err)
			}
		}
	}
}
