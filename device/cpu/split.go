package cpu

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// splitter cuts the leaves of an engine that are too large for the cache.
type splitter[K radix.Element, E arena.Word] struct{ engine *engine[K, E] }

// errNoRoom says that there are too few free blocks to split a leaf. No leaf has been harmed: a worker that finds the
// pool empty fails with pool.ErrFull, and what it has left behind cannot be used.
var errNoRoom = fmt.Errorf("no room to split: %w", pool.ErrFull)

// splitAll splits leaves until none has to be. It fails with errNoRoom if there is no room for that.
func (s splitter[K, E]) splitAll(ctx context.Context, hasTo func(l *leaf[K]) bool) error {
	for i := 0; i < len(s.engine.leaves); {
		if !hasTo(&s.engine.leaves[i]) {
			i++
			continue
		}
		var workers, most int
		if i, workers, most = s.makeRoom(i); most < 2 {
			return errNoRoom
		}
		if err := s.engine.makeWorkers(workers); err != nil {
			return err
		}
		parts, err := s.split(ctx, s.engine.leaves[i], workers, most)
		if err != nil {
			return err
		}
		s.engine.leaves = slices.Replace(s.engine.leaves, i, i+1, parts...)
	}
	return nil
}

// split cuts a leaf into parts, most at most. Keys that all tie are made anew, of bits of the records that come later.
func (s splitter[K, E]) split(ctx context.Context, l leaf[K], workers, most int) ([]leaf[K], error) {
	if l.counted > 0 {
		return s.around(ctx, l, workers)
	}
	sample, low, high, err := s.survey(ctx, l, workers)
	if err != nil {
		return nil, err
	}
	l.low, l.high = low, high
	tieBits := s.engine.kind.tieBits(l.from)
	if low>>tieBits == high>>tieBits {
		err := s.engine.kind.tied(ctx, &l)
		return []leaf[K]{l}, err
	}
	b := radix.FittedBuckets(sample, low, high, min(4*s.engine.sizes.buckets(l.count), most), tieBits)
	// Majority keys are counted if that spares two blocks: one for the leaf that they are in, which cannot be joined with
	// its neighbours, and one as it keeps these apart.
	least := int64(2*s.engine.sizes.block) * int64(len(sample)) / l.count
	majority := radix.MajorityKeys(sample, b, s.engine.sizes.maxEqualities(), int(least)+1)
	parts, err := s.distribute(ctx, l, workers, b, majority)
	return s.merge(parts, int64(min(s.engine.sizes.bucket/2, s.engine.sizes.leaf))), err
}

// around cuts a leaf into what is less than the key that was counted, what is equal to that, and what is greater.
func (s splitter[K, E]) around(ctx context.Context, l leaf[K], workers int) ([]leaf[K], error) {
	value := l.majority
	equal := leaf[K]{List: pool.Empty, zone: l.zone, count: l.counted, low: value, high: value, from: l.from, done: true}
	if l.count == l.counted {
		return []leaf[K]{equal}, nil
	}
	l.count, l.counted = l.count-l.counted, 0
	rest, err := s.distribute(ctx, l, workers, radix.CutAt(value), nil)
	if err != nil {
		return nil, err
	}
	at := 0
	if first := s.engine.pool.Content(rest[0].Head)[:1]; s.engine.kind.keysOf(nil, first, l.from)[0] < value {
		at = 1
	}
	return slices.Insert(rest, at, equal), nil
}

// makeRoom sees to it that leaf i can be cut, and gives its index then, how many workers may do it, and into how many
// parts at most. Where few blocks are free, neighbours that fit in cache together are joined, and all blocks but one
// of a leaf filled: so few are not full then that there is room for minSplit buckets, see setBlocks.
func (s splitter[K, E]) makeRoom(i int) (at, workers, most int) {
	l := s.engine.leaves[i]
	workers = workersFor(s.engine.sizes.workers, l.count, unitBytes/s.engine.sizes.element)
	if s.affordable(&l, workers) < min(4*s.engine.sizes.buckets(l.count), s.engine.sizes.maxBuckets()) {
		before := s.merge(s.engine.leaves[:i], int64(s.engine.sizes.leaf))
		after := s.merge(s.engine.leaves[i+1:], int64(s.engine.sizes.leaf))
		s.engine.leaves = slices.Concat(before, s.merge([]leaf[K]{l}, 0), after)
		i = len(before)
	}
	for workers > 1 && s.affordable(&l, workers) < min(minSplit, s.engine.sizes.maxBuckets()) {
		workers--
	}
	return i, workers, s.affordable(&l, workers)
}

// affordable is the number of buckets that workers can cut a leaf into with the blocks that are free: each may
// need a block in every bucket, and holds one of each list that it reads, and one that another has begun.
func (s splitter[K, E]) affordable(l *leaf[K], workers int) int {
	held := 2
	if l.ordered {
		held = 2 * len(s.engine.order.lists)
	}
	return min(s.engine.sizes.maxBuckets(), int(s.engine.pool.Available())/workers-held)
}

// distribute moves the elements of a leaf into buckets. Blocks that have been read are used again at once: a worker
// never needs more new ones than it has buckets, and those that it holds.
func (s splitter[K, E]) distribute(
	ctx context.Context, l leaf[K], workers int, b radix.Buckets[K], majority []K,
) ([]leaf[K], error) {
	partly := make([]map[uint32]int, workers) // of each worker, how much it has read of blocks that it has not read all of
	for i, w := range s.engine.workers[:workers] {
		w.scatter.Reset(b.Count(), l.zone, 1, 1, majority)
		partly[i] = map[uint32]int{}
	}
	err := s.engine.eachPiece(ctx, workers, l, func(i int, w *worker[K, E], piece []E) {
		for elems := range slices.Chunk(piece, len(w.keys)) {
			w.scatter.Add(&b, s.engine.kind.keysOf(w, elems, l.from), elems)
		}
		if block := blockOf(s.engine.pool, piece); readAll(partly[i], block, len(piece), s.engine.pool.Used[block]) {
			w.scatter.Recycle(block)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, read := range partly {
		maps.Copy(partly[0], read)
	}
	for block := range partly[0] { // by several workers together
		s.engine.workers[0].scatter.Recycle(block)
	}
	for _, w := range s.engine.workers[:workers] {
		w.scatter.Finish()
	}
	return s.engine.collect(workers, b, l, nil), nil
}

// readAll takes that n of the used elements of a block were read, and reports whether that makes all of them.
func readAll(partly map[uint32]int, block uint32, n int, used uint32) bool {
	if n < int(used) {
		n += partly[block]
		partly[block] = n
	}
	if n < int(used) {
		return false
	}
	delete(partly, block)
	return true
}

// blockOf is the block of a piece.
func blockOf[E arena.Word](p *pool.Pool[E], piece []E) uint32 {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(piece))) - uintptr(unsafe.Pointer(unsafe.SliceData(p.Elems)))
	return uint32(start / unsafe.Sizeof(piece[0]) >> p.Shift)
}

// merge joins neighbouring leaves that have at most as many elements together and packs all of them, so that leaves
// and the blocks that are not full stay few however often buckets are cut.
func (s splitter[K, E]) merge(leaves []leaf[K], most int64) []leaf[K] {
	merged := leaves[:0]
	for _, l := range leaves {
		if n := len(merged); n > 0 && merged[n-1].joins(&l) && merged[n-1].count+l.count <= most {
			s.engine.pool.Join(&merged[n-1].List, l.List)
			merged[n-1].count += l.count
			merged[n-1].high = l.high
			continue
		}
		merged = append(merged, l)
	}
	for i := range merged {
		merged[i].List = s.engine.pool.Pack(merged[i].zone, merged[i].List, s.engine.sizes.whole)
	}
	return merged
}

// joins reports whether a leaf and the next one can be one: all of their elements are in blocks of one zone, and
// hold the same bits of the key.
func (l *leaf[K]) joins(next *leaf[K]) bool {
	return !l.done && !next.done && l.counted == 0 && next.counted == 0 && !l.ordered && !next.ordered &&
		l.zone == next.zone && l.from == next.from
}

// leafSample is how many keys of a leaf tell how to cut it.
const leafSample = 8192

// survey gives the least and the greatest key of a leaf, and some from places all over it, until the next one. Workers
// do not wait for each other meanwhile: the pieces of a small chunk are small and many.
func (s splitter[K, E]) survey(ctx context.Context, l leaf[K], workers int) (sample []K, low, high K, err error) {
	step := int(l.count/leafSample) + 1
	for _, w := range s.engine.workers[:workers] {
		w.low, w.high, w.sample, w.next = ^K(0), 0, w.sample[:0], 0
	}
	err = s.engine.eachPiece(ctx, workers, l, func(_ int, w *worker[K, E], piece []E) {
		for elems := range slices.Chunk(piece, len(w.keys)) {
			keys := s.engine.kind.keysOf(w, elems, l.from)
			least, greatest := radix.MinMax(keys)
			w.low, w.high = min(w.low, least), max(w.high, greatest)
			for ; w.next < len(keys); w.next += step {
				w.sample = append(w.sample, keys[w.next])
			}
			w.next -= len(keys)
		}
	})
	first := s.engine.workers[0]
	for _, w := range s.engine.workers[1:workers] {
		first.low, first.high = min(first.low, w.low), max(first.high, w.high)
		first.sample = append(first.sample, w.sample...)
	}
	return first.sample, first.low, first.high, err
}

// eachPiece calls f for all elements of a leaf by several workers, each with a share of them: consecutive ones in the
// order of the input, if that is known. f may recycle what it has read.
func (e *engine[K, E]) eachPiece(
	ctx context.Context, workers int, l leaf[K], f func(i int, w *worker[K, E], piece []E),
) error {
	var found sync.WaitGroup // the starts of all shares
	found.Add(workers)
	return device.Each(ctx, workers, func(ctx context.Context, i int) error {
		start := sync.OnceFunc(func() { found.Done(); found.Wait() })
		defer start()
		from := l.count * int64(i) / int64(workers)
		left := l.count*int64(i+1)/int64(workers) - from
		for piece := range e.pieces(&l, from) {
			if start(); ctx.Err() != nil {
				return ctx.Err()
			}
			piece = piece[:min(int64(len(piece)), left)]
			f(i, e.workers[i], piece)
			if left -= int64(len(piece)); left == 0 {
				break
			}
		}
		return nil
	})
}
