package merge

import (
	"context"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
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
	size  int // record size
	tile  int // records to merge at a time
	tiler *tiler
	cut   *searcher
	out   *emitter
	lists [][]stretch // not in use
	meter *meters
}

// divided cuts a span into spans of about so many records, or fewer, which together are the same output. Where blocks
// of all runs begin at nearly the same key, as those of equally distributed keys do, the spans between the starts of
// blocks are nearly nothing or nearly everything: then one worker would have it all.
func (s *span) divided(search *searcher, records int64) []*span {
	longest := longestOf(s.stretches)
	if s.records < 2*records || len(s.stretches[longest].keys) < 2 {
		return []*span{s}
	}
	before, after := &span{first: s.first}, &span{}
	search.halve(s.stretches, longest, func(i, at int) {
		before.addPart(s.blocks[i], s.stretches[i], 0, at, search.size)
		after.addPart(s.blocks[i], s.stretches[i], at, len(s.stretches[i].keys), search.size)
	})
	after.first = before.first + before.records
	for _, b := range s.blocks {
		b.release()
	}
	return append(before.divided(search, records), after.divided(search, records)...)
}

func (s *span) addPart(b *block, of stretch, from, to, recordSize int) {
	if from == to {
		return
	}
	b.holders.Add(1)
	s.blocks = append(s.blocks, b)
	s.stretches = append(s.stretches, of.part(from, to, recordSize))
	s.records += int64(to - from)
}

func longestOf(stretches []stretch) int {
	longest := 0
	for i, s := range stretches {
		if len(s.keys) > len(stretches[longest].keys) {
			longest = i
		}
	}
	return longest
}

// newWorker makes a worker that lives in memory, which has workerBytes.
func newWorker(opt *Options, memory *arena.Memory, w device.BlockWriter, m *meters) *worker {
	tile := plan.MergeTile(opt.Keyer, opt.BlockBytes)
	scratch := len(memory.Bytes()) - opt.BlockBytes
	return &worker{
		opt: opt, size: opt.recordSize(), tile: tile, meter: m, cut: newSearcher(opt.Keyer),
		tiler: newTiler(opt.Keyer, tile, words(memory.Bytes()[:scratch])),
		out:   newEmitter(opt, memory.Bytes()[scratch:], w, m),
	}
}

// mergeAll merges the spans that come, and lets go of the blocks they lie in.
func (w *worker) mergeAll(ctx context.Context, spans <-chan *span) error {
	for s := range spans {
		if err := w.merge(ctx, s); err != nil {
			return err
		}
		for _, b := range s.blocks {
			b.release()
		}
	}
	return nil
}

// merge writes the first records of s, as many as the limit of the whole output leaves to it.
func (w *worker) merge(ctx context.Context, s *span) error {
	began, wrote := time.Now(), w.out.nanoseconds
	w.out.begin(s.first, s.records)
	if w.opt.Limit >= 0 {
		w.out.left = max(0, min(s.records, w.opt.Limit-s.first)) // the last span may begin beyond the limit
	}
	err := w.emit(ctx, s.stretches)
	if err == nil {
		err = w.out.flush(ctx)
	}
	writing := w.out.nanoseconds - wrote
	w.meter.write.Add(writing)
	w.meter.merge.Add(int64(time.Since(began)) - writing)
	w.meter.ranges.Add(1)
	return err
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
		return w.emitInOrder(ctx, stretches)
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

func (w *worker) emitInOrder(ctx context.Context, stretches []stretch) error {
	for _, s := range stretches {
		if err := w.out.copy(ctx, s.recs); err != nil {
			return err
		}
	}
	return nil
}

// divide cuts stretches in two, where the middle of the longest one is.
func (w *worker) divide(stretches []stretch, longest int) (before, after []stretch) {
	before, after = w.list(), w.list()
	w.cut.halve(stretches, longest, func(i, at int) {
		before = appendPart(before, stretches[i], 0, at, w.size)
		after = appendPart(after, stretches[i], at, len(stretches[i].keys), w.size)
	})
	return before, after
}

func appendPart(list []stretch, s stretch, from, to, size int) []stretch {
	if from == to {
		return list
	}
	return append(list, s.part(from, to, size))
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
	switch {
	case !isWord(w.opt.Keyer):
		return w.emitRefs(ctx, stretches, w.tiler.merge(sequence{}).refs)
	case isNative(w.opt.Keyer) && int64(records) <= w.out.left:
		dst, err := w.out.reserve(ctx, records)
		if err != nil {
			return err
		}
		if dst != nil {
			w.tiler.merge(sequence{keys: words(dst)})
			return nil
		}
	}
	return w.emitKeys(ctx, w.tiler.merge(sequence{}).keys[:records])
}

// emitKeys writes the records that these keys are all there is to.
func (w *worker) emitKeys(ctx context.Context, keys []uint64) error {
	for len(keys) > 0 && w.out.left > 0 {
		dst, err := w.out.room(ctx, len(keys))
		if err != nil {
			return err
		}
		n := len(dst) / w.size
		w.opt.Keyer.Records(dst, keys[:n])
		keys = keys[n:]
	}
	return nil
}

// emitRefs moves the records, those that follow each other in one stretch by one copy.
func (w *worker) emitRefs(ctx context.Context, stretches []stretch, refs []ref) error {
	for len(refs) > 0 && w.out.left > 0 {
		dst, err := w.out.room(ctx, len(refs))
		if err != nil {
			return err
		}
		n := len(dst) / w.size
		gather(dst, stretches, refs[:n], w.size)
		refs = refs[n:]
	}
	return nil
}
