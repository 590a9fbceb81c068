package merge

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// start lets a cutter cut spans of what advance adds, and workers merge them. It closes enough when no more blocks are
// needed.
func start(ctx context.Context, group *errgroup.Group, opt *Options, inputs int,
	advance advance, enough chan<- struct{}, w device.BlockWriter) {
	spans := make(chan *span)
	group.Go(func() error {
		defer close(spans)
		defer close(enough)
		return newCutter(opt, inputs).dispatch(ctx, opt.Limit, advance, spans)
	})
	for range opt.Workers {
		group.Go(func() error {
			memory, err := arena.Alloc(int(opt.workerBytes()))
			if err != nil {
				return fmt.Errorf("merge: %w", err)
			}
			return errors.Join(newWorker(opt, memory.Bytes(), w).mergeAll(ctx, spans), memory.Free())
		})
	}
}

// worker merges spans, one after another, and writes them.
type worker struct {
	opt   *Options
	size  int // record size
	tile  int // records to merge at a time
	tiler *tiler
	cut   *searcher
	out   *emitter
	space []stretch // for lists that emit makes, so that a merge leaves no garbage
}

// newWorker makes a worker that lives in memory, which has workerBytes.
func newWorker(opt *Options, memory []byte, w device.BlockWriter) *worker {
	tile := plan.MergeTile(opt.Keyer, opt.BlockBytes)
	scratch := len(memory) - opt.BlockBytes
	return &worker{
		opt: opt, size: opt.recordSize(), tile: tile, cut: newSearcher(opt.Keyer),
		tiler: newTiler(opt.Keyer, tile, arena.View[uint64](memory[:scratch])),
		out:   &emitter{w: w, size: opt.recordSize(), buf: memory[scratch:][:0:opt.BlockBytes]},
	}
}

func (w *worker) mergeAll(ctx context.Context, spans <-chan *span) error {
	for s := range spans {
		if err := w.merge(ctx, s); err != nil {
			return err
		}
		s.release()
	}
	return nil
}

// merge writes the first records of s, as many as the limit of the whole output leaves to it.
func (w *worker) merge(ctx context.Context, s *span) error {
	left := s.records
	if w.opt.Limit >= 0 {
		left = max(0, min(left, w.opt.Limit-s.first)) // the last span may begin beyond the limit
	}
	w.out.first, w.out.left, w.out.buf = s.first, left, w.out.buf[:0]
	if err := w.emit(ctx, s.stretches); err != nil {
		return err
	}
	return w.out.flush(ctx)
}

// emit merges the stretches, in tiles if they are too much for one.
func (w *worker) emit(ctx context.Context, stretches []stretch) error {
	records := 0
	for _, s := range stretches {
		records += len(s.keys)
	}
	if records == 0 || w.out.left == 0 {
		return nil
	}
	if inOrder(w.opt.Keyer, stretches) {
		for _, s := range stretches {
			if err := w.out.copy(ctx, s.recs); err != nil {
				return err
			}
		}
		return nil
	}
	var after []stretch
	if records > w.tile {
		stretches, after = w.cut.halve(stretches, w.space)
	}
	if len(after) == 0 {
		return w.emitTile(ctx, stretches)
	}
	w.space = after[len(after):] // for the halves of halves
	defer func() { w.space = stretches[:0] }()
	if err := w.emit(ctx, stretches); err != nil {
		return err
	}
	return w.emit(ctx, after)
}

// inOrder reports whether the stretches follow each other without overlap, so that there is nothing to merge.
func inOrder(k *format.Keyer, stretches []stretch) bool {
	wide := k.KeySize() > 8
	for i := 1; i < len(stretches); i++ {
		last, next := stretches[i-1].keys[len(stretches[i-1].keys)-1], stretches[i].keys[0]
		if last > next || last == next && wide {
			return false
		}
	}
	return true
}

// emitTile merges the stretches, and puts their records where they are to be as far as the limit goes.
func (w *worker) emitTile(ctx context.Context, stretches []stretch) error {
	merged := w.tiler.merge(stretches)
	for at := 0; at < len(merged.keys) && w.out.left > 0; {
		dst, err := w.out.room(ctx, len(merged.keys)-at)
		if err != nil {
			return err
		}
		n := len(dst) / w.size
		w.tiler.put(dst, merged.part(at, at+n))
		at += n
	}
	return nil
}

// emitter collects records into blocks and writes them.
type emitter struct {
	w     device.BlockWriter
	size  int    // record size
	first int64  // index of the first record in buf
	left  int64  // records that may follow what is in buf
	buf   []byte // its capacity is the size of a block
}

// room makes place for up to n more records, at least one if any may come, and returns it.
func (e *emitter) room(ctx context.Context, n int) ([]byte, error) {
	if len(e.buf) == cap(e.buf) {
		if err := e.flush(ctx); err != nil {
			return nil, err
		}
	}
	n = int(min(int64(n), e.left, int64((cap(e.buf)-len(e.buf))/e.size)))
	at := len(e.buf)
	e.buf = e.buf[:at+n*e.size]
	e.left -= int64(n)
	return e.buf[at:], nil
}

// copy appends records. What fills a block is written from where it lies.
func (e *emitter) copy(ctx context.Context, recs []byte) error {
	recs = recs[:min(int64(len(recs)), e.left*int64(e.size))]
	for len(recs) > 0 {
		if len(e.buf) == 0 && len(recs) >= cap(e.buf) {
			if err := e.write(ctx, recs[:cap(e.buf)]); err != nil {
				return err
			}
			recs = recs[cap(e.buf):]
			e.left -= int64(cap(e.buf) / e.size)
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

func (e *emitter) flush(ctx context.Context) error {
	if len(e.buf) == 0 {
		return nil
	}
	err := e.write(ctx, e.buf)
	e.buf = e.buf[:0]
	return err
}

func (e *emitter) write(ctx context.Context, recs []byte) error {
	err := e.w.WriteBlock(ctx, e.first, recs)
	e.first += int64(len(recs) / e.size)
	return err
}
