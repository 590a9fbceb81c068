package merge

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/extsort/extsort/chunker/spill"
)

// place is one block of one run.
type place struct {
	run, block int32
}

// forecast is the order in which a merge needs the blocks of its runs: by their first keys, which the indexes
// tell before anything is read (Knuth, volume 3, section 5.4.9, "forecasting", there from the last keys in
// memory). It is also the list of splitters: the start of any block cuts the total order (key, run, position)
// of all records in two.
func forecast(runs []*spill.Run) []place {
	var order []place
	for r, run := range runs {
		for b := range run.Blocks() {
			order = append(order, place{int32(r), int32(b)})
		}
	}
	slices.SortFunc(order, func(a, b place) int {
		return cmp.Or(
			bytes.Compare(keyOf(runs, a), keyOf(runs, b)),
			cmp.Compare(a.run, b.run),
			cmp.Compare(a.block, b.block))
	})
	return order
}

func keyOf(runs []*spill.Run, p place) []byte { return runs[p.run].Blocks()[p.block].Key }

func largestBlock(runs []*spill.Run) int {
	n := 0
	for _, run := range runs {
		n = max(n, run.LargestBlock())
	}
	return n
}
