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

// start lets dispatch cut spans, and workers merge them. It closes enough when no more blocks are needed.
func start(ctx context.Context, group *errgroup.Group, opt *Options,
	dispatch func(context.Context, *sender) error, enough chan<- struct{}, w device.BlockWriter) {
	spans := make(chan *span)
	group.Go(func() error {
		defer close(spans)
		defer close(enough)
		return dispatch(ctx, newSender(opt, spans))
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
	lists [][]stretch // not in use
}

// newWorker makes a worker that lives in memory, which has workerBytes.
func newWorker(opt *Options, memory []byte, w device.BlockWriter) *worker {
	tile := plan.MergeTile(opt.Keyer, opt.BlockBytes)
	scratch := len(memory) - opt.BlockBytes
	return &worker{
		opt: opt, size: opt.recordSize(), tile: tile, cut: newSearcher(opt.Keyer),
		tiler: newTiler(opt.Keyer, tile, arena.View[uint64](memory[:scratch])),
		out:   newEmitter(opt, memory[scratch:], w),
	}
}

// mergeAll merges the spans that come.
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
	w.out.begin(s.first, left)
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
	longest := longestOf(stretches)
	switch {
	case inOrder(w.opt.Keyer, stretches):
		for _, s := range stretches {
			if err := w.out.copy(ctx, s.recs); err != nil {
				return err
			}
		}
		return nil
	case records <= w.tile || len(stretches[longest].keys) < 2:
		return w.emitTile(ctx, stretches)
	}
	before, after := w.divide(stretches, longest)
	err := w.emit(ctx, before)
	if err == nil {
		err = w.emit(ctx, after)
	}
	w.lists = append(w.lists, before, after)
	return err
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

// divide cuts stretches in two, where the middle of the longest one is.
func (w *worker) divide(stretches []stretch, longest int) (before, after []stretch) {
	before, after = w.list(), w.list()
	w.cut.halve(stretches, longest, func(in stretch, at int) {
		if at > 0 {
			before = append(before, in.part(0, at, w.size))
		}
		if at < len(in.keys) {
			after = append(after, in.part(at, len(in.keys), w.size))
		}
	})
	return before, after
}

// list is an empty list of stretches, used before if possible.
func (w *worker) list() []stretch {
	if len(w.lists) == 0 {
		return nil
	}
	last := len(w.lists) - 1
	list := w.lists[last]
	w.lists = w.lists[:last]
	return list[:0]
}

func (w *worker) emitTile(ctx context.Context, stretches []stretch) error {
	records := w.tiler.set(stretches)
	if !isWord(w.opt.Keyer) {
		refs := w.tiler.merge(sequence{}).refs[:records]
		return w.fill(ctx, records, func(dst []byte, at, n int) { gather(dst, stretches, refs[at:at+n], w.size) })
	}
	if isNative(w.opt.Keyer) && int64(records) <= w.out.left {
		dst, err := w.out.reserve(ctx, records)
		if err != nil {
			return err
		}
		if dst != nil {
			w.tiler.merge(sequence{keys: arena.View[uint64](dst)})
			return nil
		}
	}
	keys := w.tiler.merge(sequence{}).keys[:records]
	return w.fill(ctx, records, func(dst []byte, at, n int) { w.opt.Keyer.Records(dst, keys[at:at+n]) })
}

// fill writes up to so many records, which put puts where they are to be, n from index at on.
func (w *worker) fill(ctx context.Context, records int, put func(dst []byte, at, n int)) error {
	for at := 0; at < records && w.out.left > 0; {
		dst, err := w.out.room(ctx, records-at)
		if err != nil {
			return err
		}
		put(dst, at, len(dst)/w.size)
		at += len(dst) / w.size
	}
	return nil
}
