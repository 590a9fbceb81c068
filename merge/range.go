package merge

import (
	"context"
	"time"

	"github.com/extsort/extsort/device"
)

// span is one piece of the output that is merged independently of all others: the records between two splitters,
// as stretches in the order in which equal keys are to follow each other.
type span struct {
	first     int64 // index in the output of its first record
	records   int64
	stretches []stretch
	blocks    []*block // what the stretches lie in
}

// worker merges spans, one after another, and writes them.
type worker struct {
	opt   *Options
	size  int
	tree  *tree
	out   *emitter
	keys  []uint64
	refs  []ref
	meter *meters
}

// batch is how many keys or references are merged before they are turned into records.
const batch = 1024

func newWorker(opt *Options, w device.BlockWriter, m *meters) *worker {
	return &worker{
		opt: opt, size: opt.recordSize(), tree: newTree(opt.Keyer), meter: m,
		out:  &emitter{w: w, size: opt.recordSize(), buf: make([]byte, 0, opt.BlockBytes), meter: m},
		keys: make([]uint64, batch), refs: make([]ref, batch),
	}
}

// workerBytes is the memory of one worker but for its small tree.
func workerBytes(opt *Options) int64 { return int64(opt.BlockBytes) + 16*batch }

// merge writes the first records of s, as many as the limit of the whole output leaves to it.
func (w *worker) merge(ctx context.Context, s *span) error {
	began, wrote := time.Now(), w.out.nanoseconds
	left := s.records
	if w.opt.Limit >= 0 {
		left = min(left, w.opt.Limit-s.first)
	}
	w.out.begin(s.first)
	err := w.emit(ctx, s.stretches, left)
	if err == nil {
		err = w.out.flush(ctx)
	}
	writing := w.out.nanoseconds - wrote
	w.meter.write.Add(writing)
	w.meter.merge.Add(int64(time.Since(began)) - writing)
	w.meter.ranges.Add(1)
	return err
}

func (w *worker) emit(ctx context.Context, stretches []stretch, left int64) error {
	switch {
	case len(stretches) == 0:
		return nil
	case len(stretches) == 1:
		return w.out.copy(ctx, stretches[0].recs[:left*int64(w.size)])
	}
	w.tree.reset(stretches)
	if w.opt.Keyer.Layout().IsBare() && w.opt.Keyer.KeySize() <= 8 {
		return w.emitKeys(ctx, left)
	}
	return w.emitRefs(ctx, stretches, left)
}

// emitKeys merges bare keys: they are all that there is to a record.
func (w *worker) emitKeys(ctx context.Context, left int64) error {
	for left > 0 {
		dst, err := w.out.room(ctx, int(min(left, batch)))
		if err != nil {
			return err
		}
		keys := w.keys[:len(dst)/w.size]
		w.tree.keysInto(keys)
		w.opt.Keyer.Records(dst, keys)
		left -= int64(len(keys))
	}
	return nil
}

// emitRefs merges references to records and then moves the records, those that follow each other in one input
// by one copy.
func (w *worker) emitRefs(ctx context.Context, stretches []stretch, left int64) error {
	for left > 0 {
		refs := w.refs[:min(left, batch)]
		w.tree.refsInto(refs)
		left -= int64(len(refs))
		for len(refs) > 0 {
			n := 1
			for n < len(refs) && refs[n] == refs[0]+ref(n) {
				n++
			}
			at := int(uint32(refs[0])) * w.size
			if err := w.out.copy(ctx, stretches[refs[0]>>32].recs[at:at+n*w.size]); err != nil {
				return err
			}
			refs = refs[n:]
		}
	}
	return nil
}

// emitter collects records into blocks and writes them.
type emitter struct {
	w           device.BlockWriter
	size        int    // record size
	first       int64  // index of the first record in buf
	buf         []byte // its capacity is the size of a block
	nanoseconds int64  // spent in WriteBlock
	meter       *meters
}

// begin says that the next record has index first.
func (e *emitter) begin(first int64) { e.first, e.buf = first, e.buf[:0] }

// room makes place for up to n more records, at least one, and returns it.
func (e *emitter) room(ctx context.Context, n int) ([]byte, error) {
	if len(e.buf) == cap(e.buf) {
		if err := e.flush(ctx); err != nil {
			return nil, err
		}
	}
	at := len(e.buf)
	e.buf = e.buf[:min(at+n*e.size, cap(e.buf))]
	return e.buf[at:], nil
}

// copy appends records. What fills a block is written from where it lies.
func (e *emitter) copy(ctx context.Context, recs []byte) error {
	for len(recs) > 0 {
		if len(e.buf) == 0 && len(recs) >= cap(e.buf) {
			if err := e.write(ctx, recs[:cap(e.buf)]); err != nil {
				return err
			}
			recs = recs[cap(e.buf):]
			continue
		}
		dst, err := e.room(ctx, len(recs)/e.size)
		if err != nil {
			return err
		}
		recs = recs[copy(dst, recs):]
	}
	return nil
}

// flush writes what has been collected.
func (e *emitter) flush(ctx context.Context) error {
	if len(e.buf) == 0 {
		return nil
	}
	err := e.write(ctx, e.buf)
	e.buf = e.buf[:0]
	return err
}

func (e *emitter) write(ctx context.Context, recs []byte) error {
	began := time.Now()
	err := e.w.WriteBlock(ctx, e.first, recs)
	n := int64(len(recs) / e.size)
	e.first += n
	e.nanoseconds += int64(time.Since(began))
	e.meter.records.Add(n)
	return err
}
