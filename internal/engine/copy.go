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

// errDisorder ends the copy of an input that looked sorted but is not.
var errDisorder error = &plan.Impossible{Why: "the input is not in order"}

// runCopy writes an input that is already in order. If it is in reverse order, runCopy writes it
// from its end to its beginning.
//
// If the output is a regular file, whose blocks can be written again, runCopy checks the order
// while it writes. Otherwise it checks the order in a pass of its own first.
func runCopy(ctx context.Context, r *Run, _ *plan.Candidate) error {
	total := r.Input.DataBytes()
	checksFirst := !r.Output.Placed() || r.Facts.Request.Unique
	if checksFirst {
		total *= 2
	}
	r.Meter.begin(plan.StageCopy, atInput, total)
	defer func() { r.Meter.end(r.Input.Bytes()) }()

	if !checksFirst {
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

// copyOrdered copies the data to w while they are in order. It copies mirrored data from the last
// record to the first. In that case records with equal keys, which must keep their input order,
// count as disorder, unless a record is nothing but its key.
func copyOrdered(ctx context.Context, r *Run, w device.BlockWriter) error {
	in := r.Input
	s := &r.Plan.Sizes
	mirrored := r.Facts.Mirrored()
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
		if err := device.Copy(
			ctx, src, s.Workers, s.BlockBytes/in.size, in.size, copyBlock,
		); err != nil {
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
