package engine

import (
	"context"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
)

// DisorderBytes is how much is read at a time to find the first record that is out of order.
const DisorderBytes = 1 << 20

// SeekDisorder goes back from a record that is out of order to the first of its input that is: a merge reads the blocks
// of a file in no certain order. A stream is read in its own, so that the one that is known is the first.
func SeekDisorder(ctx context.Context, all *Input, known *merge.DisorderError) {
	in := all.Files[known.Input]
	if !in.Seekable() {
		return
	}
	size := int64(all.Keyer.Layout().RecordSize)
	buf := make([]byte, max(DisorderBytes/size, 2)*size)
	step := int64(len(buf))/size - 1 // the last record of a block is the first of the next
	for first := int64(0); first < known.Record && ctx.Err() == nil; first += step {
		block := buf[:min(step+1, known.Record+1-first)*size]
		if in.ReadRecords(block, first) != nil {
			return
		}
		if order := format.CheckBlock(all.Keyer, first, block); order.FirstDisorder >= 0 {
			known.Record = order.FirstDisorder
			known.Key, known.Before = order.FaultKeys(false)
			return
		}
	}
}
