package merge

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// firstOwners returns the records of runs whose key is in no earlier run, in one stable order.
func firstOwners(k *format.Keyer, runs [][]byte) []byte {
	size := k.Layout().RecordSize
	owners := map[string]int{}
	var kept []byte
	for i, run := range runs {
		for rec := range slices.Chunk(run, size) {
			key := string(k.Append(nil, rec))
			owner, known := owners[key]
			if !known {
				owners[key] = i
			}
			if !known || owner == i {
				kept = append(kept, rec...)
			}
		}
	}
	return formattest.Sorted(k, kept)
}

// TestTile merges runs in memory, with all records, and with those of the first run that has a key.
// One tile is used again and again.
func TestTile(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, l := range layouts(t) {
		k := formattest.KeyerOf(t, l)
		size := l.RecordSize
		tile := NewTile(k, 100)
		for _, shape := range shapes {
			for _, inputs := range []int{0, 1, 2, 3, 7} {
				runs, want := sortedParts(k, parts(l, shape.fill, inputs, 200, rng))
				for _, union := range []bool{false, true} {
					if union {
						want = firstOwners(k, runs)
					}
					tile.Reset()
					for _, run := range runs {
						var prefixes []uint64
						for rec := range slices.Chunk(run, size) {
							prefixes = append(prefixes, k.Prefix(rec))
						}
						tile.Add(prefixes, run)
					}
					n := tile.Merge(union)
					got := make([]byte, n*size)
					half := n / 2
					tile.Copy(got[:half*size], 0)
					tile.Copy(got[half*size:], half)
					if !bytes.Equal(got, want) {
						t.Fatalf("%v/%s/inputs=%d, union %t: %d records, want %d, or in another order", l, shape.name, inputs,
							union, n, len(want)/size)
					}
				}
			}
		}
	}
}

// TestReduceTo merges full groups of runs until few are left.
func TestReduceTo(t *testing.T) {
	l := formattest.Fields(t, 16, "0:u8")
	k := formattest.KeyerOf(t, l)
	opt := Options{Keyer: k, Workers: 2, BlockBytes: 800, Limit: -1}
	for _, c := range []struct{ runs, fanIn, most, left int }{
		{0, 3, 4, 0}, {4, 3, 4, 4}, {5, 3, 4, 3}, {9, 3, 1, 3}, {10, 4, 5, 4}, {30, 2, 10, 10},
	} {
		runs, want := sortedParts(k, parts(l, shapes[0].fill, c.runs, 100, rand.New(rand.NewPCG(9, uint64(c.runs)))))
		newRun := testSpill(t, k, nil).NewMerged
		var groups []int
		left, err := ReduceTo(t.Context(), opt, memoryRuns(k, runs, 7), c.fanIn, c.most,
			func(group []*spill.Run) *spill.RunWriter {
				groups = append(groups, len(group))
				return newRun(group)
			})
		if err != nil {
			t.Fatal(err)
		}
		out := newCollector(k, opt.BlockBytes)
		if err := Merge(t.Context(), opt, left, out); err != nil {
			t.Fatal(err)
		}
		if len(left) != c.left || slices.ContainsFunc(groups, func(n int) bool { return n != c.fanIn }) {
			t.Errorf("%+v: %d runs are left, groups of %d were merged", c, len(left), groups)
		}
		if !bytes.Equal(out.Written(t), want) {
			t.Errorf("%+v: wrong order", c)
		}
	}
}
