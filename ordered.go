package extsort

import (
	"context"
	"errors"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// errDisorder ends the copying of an input that looked sorted and is not.
var errDisorder = errors.New("the input is not in order")

// byCopy writes an input that is in order as it stands. It reports false, with nothing lost, when the input turns
// out not to be in order: then it is to be sorted.
//
// A regular file is written in the same pass that checks the order, in the hope that the sample was right, since
// its blocks can be written again. Where that is not possible the check goes first.
func (s *sorting) byCopy(ctx context.Context, out *output) (done bool, err error) {
	s.meter.begin(stageCopy, atInput, s.data.Records()*int64(s.size))
	defer s.endPhase()
	if out.isPatient() && !s.opt.Unique {
		err = s.copyWhileOrdered(ctx, out)
	} else if err = s.copyWhileOrdered(ctx, nothing); err == nil {
		s.forget(out)
		err = s.copyWhileOrdered(ctx, out)
	}
	if errors.Is(err, errDisorder) {
		s.forget(out)
		return false, nil
	}
	s.report.Strategy = Copy
	return true, err
}

// nothing is a BlockWriter that keeps nothing.
var nothing = device.BlockWriterFunc(func(context.Context, int64, []byte) error { return nil })

// copyWhileOrdered copies the data to w as long as they are in order.
func (s *sorting) copyWhileOrdered(ctx context.Context, w device.BlockWriter) error {
	var order format.OrderCheck
	copyBlock := func(first int64, recs []byte) error {
		block := format.CheckBlock(s.keyer, first, recs)
		if block.FirstDisorder >= 0 {
			return errDisorder
		}
		order.Add(block)
		return w.WriteBlock(ctx, first, recs)
	}
	for _, src := range s.data.Split(1) {
		if err := readAll(ctx, src, s.opt.Workers, s.blockBytes, s.size, copyBlock); err != nil {
			return err
		}
	}
	whole, err := order.Result()
	if err == nil && whole.FirstDisorder >= 0 {
		return errDisorder
	}
	return err
}

// forget makes the counts and sums those of a run that has read and written nothing.
func (s *sorting) forget(out *output) {
	s.recordsIn.Store(0)
	out.records.Store(0)
	if s.sumIn != nil {
		s.sumIn = &checksum{}
	}
}

// looksSorted reports whether copying is worth a try: the sample is in order, and large enough to mean something.
func (j *job) looksSorted() bool {
	return allSeekable(j.inputs) && j.opt.Limit == 0 && j.sampleTells() && j.sample.Descents == 0
}

// looksReversed reports whether the sample descends nearly everywhere.
func (j *job) looksReversed() bool {
	return j.sampleTells() && j.sample.Descents >= len(j.sample.Prefixes)*99/100-1
}

// sampleTells reports whether the sample is large enough for its order to mean something.
func (j *job) sampleTells() bool {
	return len(j.sample.Prefixes) >= chunker.SampleLimit(sampleSize, j.size)/2
}
