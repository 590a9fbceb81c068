package extsort

import (
	"context"
	"errors"
	"slices"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// errDisorder ends the copying of an input that looked sorted and is not.
var errDisorder = errors.New("the input is not in order")

// byCopy writes an input that is in order as it stands, or one that is in reverse order from its end. It reports false,
// with nothing lost, when the input turns out to be in neither order: then it is to be sorted.
//
// A regular file is written in the same pass that checks the order, in the hope that the sample was right, since
// its blocks can be written again. Where that is not possible the check goes first.
func (s *sorting) byCopy(ctx context.Context, out *output) (done bool, err error) {
	s.meter.begin(stageCopy, atInput, s.data.Records()*int64(s.size))
	defer s.endPhase()
	switch {
	case s.mirrored && !out.isPatient():
		err = errDisorder // what comes first in the order would be read last
	case !out.isPatient() || s.opt.Unique:
		if err = s.copyWhileOrdered(ctx, nothing); err == nil {
			s.forget(out)
		}
	}
	if err == nil {
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

// copyWhileOrdered copies the data to w as long as they are in order; mirrored data the last record first, as long as that
// brings them in order. Then records with equal keys, which must stay in the order of the input, may not be, unless they are
// nothing but their keys.
func (s *sorting) copyWhileOrdered(ctx context.Context, w device.BlockWriter) error {
	inOrder := func(o format.Order) bool {
		return o.FirstDisorder < 0 && (!s.mirrored || o.Duplicates == 0 || s.keyer.Layout().IsBare())
	}
	var order format.OrderCheck
	copyBlock := func(first int64, recs []byte) error {
		if s.mirrored {
			first = s.data.Records() - first - int64(len(recs)/s.size)
			mirror(recs, s.size)
		}
		block := format.CheckBlock(s.keyer, first, recs)
		if !inOrder(block) {
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
	if err == nil && !inOrder(whole) {
		return errDisorder
	}
	return err
}

// mirror puts records in the reverse of their order.
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

// forget makes the counts and sums, and what filters know, those of a run that has read nothing, and written nothing but what is gone.
func (s *sorting) forget(out *output) {
	out.BlockWriter = s.filters(out)
	s.mu.Lock()
	s.stats, s.report.Chunks = nil, 0
	s.mu.Unlock()
	s.recordsIn.Store(0)
	out.records.Store(out.gone)
	if s.sumIn != nil {
		s.sumIn = &checksum{}
	}
}

// looksSorted reports whether copying is worth a try: the sample is in order, and large enough to mean something.
func (j *job) looksSorted() bool {
	return allSeekable(j.inputs) && j.sampleTells() && j.sample.Descents == 0
}

// looksMirrored reports whether copying from the end is worth a try: no key of the sample is greater than the one before it,
// and blocks can be written at their places.
func (j *job) looksMirrored() bool {
	return allSeekable(j.inputs) && j.opt.Limit == 0 && !j.opt.Unique && j.isPatient() &&
		j.sampleTells() && j.sample.Ascents == 0
}

// looksReversed reports whether the sample ascends hardly anywhere.
func (j *job) looksReversed() bool {
	return j.sampleTells() && j.sample.Descents > 0 && j.sample.Ascents <= len(j.sample.Prefixes)/100+1
}

// sampleTells reports whether the sample is large enough for its order to mean something.
func (j *job) sampleTells() bool {
	return len(j.sample.Prefixes) >= plan.SampleLimit(sampleSize, j.size)/2
}
