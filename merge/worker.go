package merge

import (
	"context"
	"errors"
	"fmt"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
)

// runWorkers starts a cutter, which cuts the blocks that advance adds into spans, and the workers
// that merge the spans. It closes enough when no more blocks are needed.
func runWorkers(
	ctx context.Context,
	group *safely.Group,
	opt *Options,
	inputs int,
	advance advance,
	enough chan<- struct{},
	w device.BlockWriter,
) {
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
			return errors.Join(
				newWorker(opt, memory.Bytes(), w).mergeAll(ctx, spans), memory.Free(),
			)
		})
	}
}

// A worker merges spans, one after another, and writes them.
type worker struct {
	opt          *Options
	recordBytes  int // record size in bytes
	tileRecords  int // number of records merged at a time
	tiler        *tiler
	cut          *searcher
	out          *device.Emitter
	stretchSpace []stretch // reused for the lists of emit, so that a merge produces no garbage
}

// newWorker returns a worker that uses memory, which consists of workerBytes bytes, for its
// buffers.
func newWorker(opt *Options, memory []byte, w device.BlockWriter) *worker {
	tile := plan.MergeTile(opt.Keyer, opt.BlockBytes)
	scratch := len(memory) - opt.BlockBytes
	return &worker{
		opt:         opt,
		recordBytes: opt.recordSize(),
		tileRecords: tile,
		cut:         newSearcher(opt.Keyer),
		tiler:       newTiler(opt.Keyer, tile, arena.View[uint64](memory[:scratch])),
		out: &device.Emitter{
			To:   w,
			Size: opt.recordSize(),
			Buf:  memory[scratch:][:0:opt.BlockBytes],
		},
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

// merge writes the records of s that are within the limit of the whole output.
func (w *worker) merge(ctx context.Context, s *span) error {
	left := s.records
	if w.opt.isLimited() {
		left = max(
			0, min(left, w.opt.Limit-s.first),
		) // the last span may begin beyond the limit
	}
	w.out.First = s.first
	w.out.Left = left
	w.out.Buf = w.out.Buf[:0]
	if err := w.emit(ctx, s.stretches); err != nil {
		return err
	}
	return w.out.Flush(ctx)
}

// emit merges the stretches. If they exceed a tile, it halves them first.
func (w *worker) emit(ctx context.Context, stretches []stretch) error {
	records := 0
	for _, s := range stretches {
		records += len(s.keys)
	}
	if records == 0 || w.out.Left == 0 {
		return nil
	}
	if inOrder(w.opt.Keyer, stretches) {
		for _, s := range stretches {
			if err := w.out.Add(ctx, s.recs); err != nil {
				return err
			}
		}
		return nil
	}

	var after []stretch
	if records > w.tileRecords {
		stretches, after = w.cut.halve(stretches, w.stretchSpace)
	}
	if len(after) == 0 {
		return w.emitTile(ctx, stretches)
	}
	w.stretchSpace = after[len(after):] // for the halves of the halves
	defer func() { w.stretchSpace = stretches[:0] }()
	if err := w.emit(ctx, stretches); err != nil {
		return err
	}
	return w.emit(ctx, after)
}

// inOrder reports whether the stretches follow each other without overlap, so that they can be
// copied.
func inOrder(k *format.Keyer, stretches []stretch) bool {
	wide := k.KeySize() > 8
	for i := 1; i < len(stretches); i++ {
		last := stretches[i-1].keys[len(stretches[i-1].keys)-1]
		next := stretches[i].keys[0]
		if last > next || last == next && wide {
			return false
		}
	}
	return true
}

// emitTile merges the stretches and writes their records, up to the limit.
func (w *worker) emitTile(ctx context.Context, stretches []stretch) error {
	merged := w.tiler.merge(stretches)
	for at := 0; at < len(merged.keys) && w.out.Left > 0; {
		dst, err := w.out.Room(ctx, len(merged.keys)-at)
		if err != nil {
			return err
		}
		n := len(dst) / w.recordBytes
		w.tiler.put(dst, merged.slice(at, at+n))
		at += n
	}

	return nil
}
