package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// An orderWatch checks the order and the checksum of blocks that arrive in any order.
type orderWatch struct {
	keyer *format.Keyer
	sum   checksum
	order format.OrderCheck

	brief  bool // compute no checksum, and stop after the first fault
	unique bool // equal neighbors are a fault

	tell func(first int64, recs []byte) // called with the checked records unless it is nil
}

// errFault stops a brief check after the first fault.
var errFault = errors.New("out of order")

func (o *orderWatch) WriteBlock(_ context.Context, first int64, recs []byte) error {
	return o.checkBlock(first, recs)
}

// checkBlock checks a block.
func (o *orderWatch) checkBlock(first int64, recs []byte) error {
	order := format.CheckBlock(o.keyer, first, recs)
	o.order.Add(order)
	switch {
	case !o.brief:
		o.sum.add(recs, o.keyer.Layout().RecordSize)
	case order.FirstFault(o.unique) >= 0:
		return errFault
	}

	if o.tell != nil {
		o.tell(first, recs)
	}
	return nil
}

// Checked is the result of Check.
type Checked struct {
	format.Summary
	Fault int64 // index of the first record that is out of order, or -1

	Key, Before []byte // normalized keys of that record and of its predecessor
}

// Check reads the input and reports whether it is sorted. If brief is set, it computes no
// checksum and stops at the first fault.
func Check(
	ctx context.Context, in *Input, s plan.Sizes, unique, brief bool, warn func(string),
) (*Checked, error) {
	in.meter.begin(plan.StageCheck, atInput, in.DataBytes())
	defer func() { in.meter.end(in.Bytes()) }()

	input.AllowRemote(in.Files, s.RequestBytes)
	watch := &orderWatch{
		keyer:  in.Keyer,
		brief:  brief,
		unique: unique,
	}
	for _, src := range in.Data.Split(1) {
		err := device.Copy(ctx, src, s.Workers, readBytes(&s)/in.size, in.size, watch)
		if err != nil && err != errFault {
			return nil, err
		}
	}

	order, err := watch.order.Result()
	if err != nil {
		return nil, err
	}
	c := &Checked{
		Summary: format.NewSummary(in.Keyer.Layout(), order, watch.sum.sum),
		Fault:   order.FirstFault(unique),
	}
	c.Key, c.Before = order.FaultKeys(unique)
	if brief {
		c.Summary = format.Summary{Records: order.Records, Duplicates: order.Duplicates}
	}
	return c, in.Data.Check(warn)
}

// maxReadBytes is the maximum size of a read if a worker only examines the records.
const maxReadBytes = 1 << 20

func readBytes(s *plan.Sizes) int {
	return int(min(maxReadBytes, s.Budget.Chunks()/int64(2*s.Workers)))
}

// verify returns an error if the output is not sorted or does not contain the records of the
// input. It reads a regular file back. A stream has been checked while it was written.
func (r *Run) verify(ctx context.Context) error {
	watch := r.Output.checked
	out := r.Output.Records()
	asked := &r.Facts.Request

	if watch == nil {
		var err error
		if watch, err = r.readBack(ctx, out); err != nil {
			return err
		}
	}

	order, err := watch.order.Result()
	if err != nil || order.Records != out {
		return fmt.Errorf("verify: %d records were written, but %d can be read; the output is "+
			"discarded", out, order.Records)
	}
	if at := order.FirstFault(asked.Unique); at >= 0 {
		key, before, _ := watch.keyer.Layout().KeyTexts(order.FaultKeys(asked.Unique))
		return fmt.Errorf(
			"verify: record %d of the output is out of order: %s after %s; the output is discarded",
			at+1, key, before,
		)
	}

	r.Result.ChecksumIn, r.Result.ChecksumOut = r.Input.sum.sum.String(), watch.sum.sum.String()
	if r.Result.ChecksumIn != r.Result.ChecksumOut && !asked.Unique && asked.Limit == 0 {
		return fmt.Errorf(
			"verify: the input has checksum %s, but the output has %s; the output "+
				"is discarded",
			r.Result.ChecksumIn, r.Result.ChecksumOut,
		)
	}
	r.Result.Verified, r.Result.Summary = true, new(
		format.NewSummary(watch.keyer.Layout(), order, watch.sum.sum),
	)
	return nil
}

// readBack checks the records of the output file before it gets its name.
func (r *Run) readBack(ctx context.Context, records int64) (*orderWatch, error) {
	size := r.Output.Size
	bytes := records * int64(size)
	r.Meter.begin(plan.StageVerify, atOutput, bytes)
	defer func() { r.Meter.end(bytes) }()
	watch := &orderWatch{keyer: r.Output.keyer, tell: r.Output.tell}
	src := input.ReaderSource(r.Output.file, int64(len(r.Output.header.Encode(0))), records, size)
	s := &r.Plan.Sizes
	w := r.Meter.watched(atOutput, watch)
	return watch, device.Copy(ctx, src, s.Workers, max(readBytes(s)/size, 1), size, w)
}
