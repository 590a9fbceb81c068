package engine

import (
	"context"
	"slices"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// errDisorder ends the copying of an input that looked sorted and is not.
var errDisorder error = &plan.Impossible{Why: "the input is not in order"}

// runCopy writes an input that is in order as it stands, or one that is in reverse order from its end.
//
// A regular file is written in the same pass that checks the order, in the hope that the sample was right, since its
// blocks can be written again. Where that is not possible the check goes first.
func runCopy(ctx context.Context, r *Run, _ *plan.Candidate) error {
	r.Meter.begin(plan.StageCopy, atInput, r.Input.DataBytes())
	defer func() { r.Meter.end(r.Input.Bytes()) }()
	if r.Output.Placed() && !r.Facts.Asked.Unique {
		return copyOrdered(ctx, r, r.Output)
	}
	if err := copyOrdered(ctx, r, device.Discard); err != nil {
		return err
	}
	r.restart()
	err := copyOrdered(ctx, r, r.Output)
	if err == errDisorder {
		return input.ErrChanged
	}
	return err
}

// copyOrdered copies the data to w as long as they are in order; mirrored data the last record first, as long as that
// brings them in order. Then records with equal keys, which must stay in the order of the input, may not be, unless
// they are nothing but their keys.
func copyOrdered(ctx context.Context, r *Run, w device.BlockWriter) error {
	in, s, mirrored := r.Input, &r.Plan.Sizes, r.Facts.Mirrored()
	inOrder := func(o format.Order) bool {
		return o.FirstDisorder < 0 && (!mirrored || o.Duplicates == 0 || in.Keyer.Layout().IsBare())
	}
	var order format.OrderCheck
	copyBlock := device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
		if mirrored {
			first = in.Data.Records() - first - int64(len(recs)/in.size)
			mirror(recs, in.size)
		}
		block := format.CheckBlock(in.Keyer, first, recs)
		if !inOrder(block) {
			return errDisorder
		}
		order.Add(block)
		return w.WriteBlock(ctx, first, recs)
	})
	for _, src := range in.Data.Split(1) {
		if err := device.Copy(ctx, src, s.Workers, s.BlockBytes/in.size, in.size, copyBlock); err != nil {
			return err
		}
	}
	whole, err := order.Result()
	if err == nil && !inOrder(whole) {
		return errDisorder
	}
	return err
}

func mirror(recs []byte, size int) {
	switch size {
	case 4:
		slices.Reverse(arena.View[uint32](recs))
		return
	case 8:
		slices.Reverse(arena.View[uint64](recs))
		return
	}
	other := make([]byte, size)
	for from, to := 0, len(recs)-size; from < to; from, to = from+size, to-size {
		copy(other, recs[from:])
		copy(recs[from:from+size], recs[to:])
		copy(recs[to:], other)
	}
}
