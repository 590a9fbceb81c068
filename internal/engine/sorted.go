package engine

import (
	"context"
	"io"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
)

// MergeSorted merges inputs that are already sorted, in parallel if all of them support random
// access. If an input is not sorted, it returns a *merge.DisorderError.
func (r *Run) MergeSorted(ctx context.Context) error {
	r.Result.Strategy = r.Plan.Strategy
	r.Result.MergeLevels = 1
	r.Result.FanIn = len(r.Input.Files)
	if r.Facts.Request.Limit < 0 {
		return nil
	}
	r.Meter.begin(plan.StageMerge, atOutput, r.Input.DataBytes())
	defer func() { r.Meter.end(r.Input.Bytes()) }()
	input.AllowRemote(r.Input.Files, r.Plan.Sizes.RequestBytes)
	opt := r.mergeOptions()
	opt.CheckOrder = true
	if r.Facts.Records < 0 || !r.Facts.Seekable || r.Facts.Remote {
		return r.mergeStreams(ctx, opt)
	}
	s := &r.Plan.Sizes
	runs := make([]*spill.Run, len(r.Input.Files))
	blocks := r.Input.Data.Records()/int64(s.BlockBytes/r.Input.size) + int64(len(runs))
	inMemory := blocks*plan.IndexEntryBytes(r.Input.Keyer.KeySize()) <= s.IndexBytes

	for i, file := range r.Input.Files {
		sorted := spill.Sorted{
			Records:     file.Records,
			ReadRecords: file.ReadRecords,
			Seen:        r.Input.countRead,
		}
		run, err := sorted.Run(r.Input.Keyer, s.BlockBytes/r.Input.size, inMemory)
		if err != nil {
			return err
		}
		runs[i] = run
	}

	if len(runs) > s.FanIn {
		if _, err := r.Spill(r.Input.DataBytes()); err != nil {
			return err
		}
		r.Result.MergeLevels = plan.Levels(len(runs), s.FanIn)
	}

	_, err := merge.MergeLevels(ctx, opt, runs, s.FanIn, r.spill.NewMerged, r.Output)
	return err
}

func (r *Run) mergeStreams(ctx context.Context, opt merge.Options) error {
	readers := make([]io.Reader, len(r.Input.Files))
	for i, file := range r.Input.Files {
		readers[i] = file.Sequence()
	}
	opt.Seen = r.Input.countRead
	opt.Interrupt = r.Interrupt
	return merge.Streams(ctx, opt, readers, r.Output)
}

// DisorderBytes is the size of a read in the search for the first record that is out of order.
const DisorderBytes = 1 << 20

// SeekDisorder replaces a record that is out of order by the first such record of its input. A
// merge reads the blocks of a file in no particular order, so it may find a later one first. A
// stream is read in order, so its known record is already the first.
func SeekDisorder(ctx context.Context, all *Input, known *merge.DisorderError) {
	in := all.Files[known.Input]
	if !in.Seekable() {
		return
	}
	size := int64(all.Keyer.Layout().RecordSize)
	buf := make([]byte, max(DisorderBytes/size, 2)*size)
	// the last record of a block is read again as the first of the next
	step := int64(len(buf))/size - 1

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
