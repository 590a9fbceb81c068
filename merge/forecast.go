package merge

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
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

// checkIndexes makes sure that the blocks of every run follow each other in order, on which the forecast relies.
func checkIndexes(k *format.Keyer, runs []*spill.Run) error {
	for r, run := range runs {
		blocks := run.Blocks()
		for b := 1; b < len(blocks); b++ {
			if bytes.Compare(blocks[b-1].Key, blocks[b].Key) > 0 {
				return findDisorder(k, r, run, b-1)
			}
		}
	}
	return nil
}

// findDisorder reads block b of a run, after which the run is known to be out of order, to name the record.
func findDisorder(k *format.Keyer, r int, run *spill.Run, b int) error {
	at := &run.Blocks()[b]
	buf := newBuffer(k, arena.ByteView(make([]uint64, plan.MergeBuffer(k, at.Records)/8)), at.Records)
	recs, err := run.ReadBlock(b, buf.recs)
	if err != nil {
		return err
	}
	blk := newBlock(r, at.First, buf, nil)
	blk.fill(k, recs)
	if err := blk.disorder(k); err != nil {
		return err
	}
	return &DisorderError{Input: r, Record: at.First + int64(at.Records)}
}

// largestBlock is the number of records in the largest block of all runs.
func largestBlock(runs []*spill.Run) int {
	n := 0
	for _, run := range runs {
		for i := range run.Blocks() {
			n = max(n, run.Blocks()[i].Records)
		}
	}
	return n
}
