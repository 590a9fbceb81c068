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

// splitter splits the leaves of a pipeline that are too large for the cache.
type splitter[K radix.Element, E arena.Word] struct {
	pipeline *pipeline[K, E]
}

// errNoRoom reports that there are too few free blocks to split a leaf. In this case no leaf has
// been changed. In contrast, a worker that runs out of blocks fails with pool.ErrFull and leaves
// an unusable chunk.
var errNoRoom = fmt.Errorf("no room to split: %w", pool.ErrFull)

// splitAll splits leaves until hasTo returns false for all of them. It returns errNoRoom if there
// are too few free blocks.
func (s splitter[K, E]) splitAll(
	ctx context.Context,
	hasTo func(l *leaf[K]) bool,
) error {
	for i := 0; i < len(s.pipeline.leaves); {
		if !hasTo(&s.pipeline.leaves[i]) {
			i++
			continue
		}

		var workers, most int
		i, workers, most = s.prepareSplit(i)
		if most < 2 {
			return errNoRoom
		}
		if err := s.pipeline.makeWorkers(workers); err != nil {
			return err
		}
		parts, err := s.split(ctx, s.pipeline.leaves[i], workers, most)
		if err != nil {
			return err
		}
		s.pipeline.leaves = slices.Replace(s.pipeline.leaves, i, i+1, parts...)
	}

	return nil
}

// split splits a leaf into at most the given number of parts. If all keys tie, it replaces them
// with later bits of the records' keys.
func (s splitter[K, E]) split(
	ctx context.Context,
	l leaf[K],
	workers, most int,
) ([]leaf[K], error) {
	if l.majorityCount > 0 {
		return s.splitAround(ctx, l, workers)
	}
	sample, low, high, err := s.survey(ctx, l, workers)
	if err != nil {
		return nil, err
	}
	l.low = low
	l.high = high
	tieBits := s.pipeline.kind.tieBits(l.keyFrom)
	if low>>tieBits == high>>tieBits {
		err := s.pipeline.kind.refineTied(ctx, &l)
		return []leaf[K]{l}, err
	}

	b := radix.FittedBuckets(
		sample, low, high, min(
			4*s.pipeline.sizes.bucketsFor(l.count),
			most,
		), tieBits,
	)
	// A majority key is counted if that saves at least two blocks. Its leaf cannot be joined with
	// its neighbors, which costs one block, and it separates these neighbors, which costs
	// another.
	least := int64(2*s.pipeline.sizes.blockElems) * int64(len(sample)) / l.count
	majority := radix.MajorityKeys(
		sample,
		b,
		s.pipeline.sizes.maxEqualities(),
		int(least)+1,
	)
	parts, err := s.distribute(ctx, l, workers, b, majority)
	return s.joinLeaves(
		parts,
		int64(min(s.pipeline.sizes.bucketElems/2, s.pipeline.sizes.leafElems)),
	), err
}

// splitAround splits a leaf into the elements less than, equal to and greater than the key that
// was counted.
func (s splitter[K, E]) splitAround(
	ctx context.Context,
	l leaf[K],
	workers int,
) ([]leaf[K], error) {
	value := l.majority
	equal := leaf[K]{
		List:     pool.Empty,
		zone:     l.zone,
		count:    l.majorityCount,
		low:      value,
		high:     value,
		keyFrom:  l.keyFrom,
		isSorted: true,
	}
	if l.count == l.majorityCount {
		return []leaf[K]{equal}, nil
	}
	l.count -= l.majorityCount
	l.majorityCount = 0
	rest, err := s.distribute(ctx, l, workers, radix.CutAt(value), nil)
	if err != nil {
		return nil, err
	}
	at := 0
	first := s.pipeline.pool.Content(rest[0].Head)[:1]
	if s.pipeline.kind.keysOf(nil, first, l.keyFrom)[0] < value {
		at = 1
	}
	return slices.Insert(rest, at, equal), nil
}

// prepareSplit prepares leaf i to be split. It returns the new index of the leaf, the number of
// workers that may split it, and the maximum number of parts. If few blocks are free, it joins
// neighboring leaves that fit into the cache together, and fills all blocks of a leaf except one.
// Then there are so few partial blocks that minSplit buckets fit; see setBlocks.
func (s splitter[K, E]) prepareSplit(i int) (at, workers, most int) {
	l := s.pipeline.leaves[i]
	workers = workersFor(
		s.pipeline.sizes.workers,
		l.count,
		unitBytes/s.pipeline.sizes.elementBytes,
	)
	if s.affordable(&l, workers) < min(
		4*s.pipeline.sizes.bucketsFor(l.count),
		s.pipeline.sizes.maxBuckets(),
	) {
		before := s.joinLeaves(s.pipeline.leaves[:i], int64(s.pipeline.sizes.leafElems))
		after := s.joinLeaves(s.pipeline.leaves[i+1:], int64(s.pipeline.sizes.leafElems))
		s.pipeline.leaves = slices.Concat(
			before,
			s.joinLeaves([]leaf[K]{l}, 0),
			after,
		)
		i = len(before)
	}

	for workers > 1 &&
		s.affordable(&l, workers) < min(
			minSplit,
			s.pipeline.sizes.maxBuckets(),
		) {
		workers--
	}
	return i, workers, s.affordable(&l, workers)
}

// affordable returns the number of buckets into which the workers can split a leaf with the free
// blocks. Each worker may need a block in every bucket, one for each list that it reads, and one
// that another worker has begun.
func (s splitter[K, E]) affordable(l *leaf[K], workers int) int {
	held := 2
	if l.ordered {
		held = 2 * len(s.pipeline.order.workerLists)
	}
	return min(
		s.pipeline.sizes.maxBuckets(),
		int(s.pipeline.pool.Available())/workers-held,
	)
}

// distribute moves the elements of a leaf to buckets. It reuses blocks immediately after they have
// been read. So the number of new blocks that a worker needs is at most the number of its buckets
// plus the number of blocks it holds.
func (s splitter[K, E]) distribute(
	ctx context.Context,
	l leaf[K],
	workers int,
	b radix.Buckets[K],
	majority []K,
) ([]leaf[K], error) {
	// partly holds, per worker, how many elements it has read of blocks that it has not read
	// completely.
	partly := make([]map[uint32]int, workers)
	for i, w := range s.pipeline.workers[:workers] {
		w.scatter.Reset(b.Count(), l.zone, 1, 1, majority)
		partly[i] = map[uint32]int{}
	}

	err := s.pipeline.eachPiece(ctx, workers, l, func(i int, w *worker[K, E], piece []E) {
		for elems := range slices.Chunk(piece, len(w.batchKeys)) {
			w.scatter.Add(&b, s.pipeline.kind.keysOf(w, elems, l.keyFrom), elems)
		}
		if block := blockOf(s.pipeline.pool, piece); noteRead(
			partly[i],
			block,
			len(piece),
			s.pipeline.pool.Used[block],
		) {
			w.scatter.Recycle(block)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, read := range partly {
		maps.Copy(partly[0], read)
	}
	for block := range partly[0] { // blocks read by several workers together
		s.pipeline.workers[0].scatter.Recycle(block)
	}
	for _, w := range s.pipeline.workers[:workers] {
		w.scatter.Finish()
	}
	return s.pipeline.collectLeaves(workers, b, l, nil), nil
}

// noteRead records that n of the used elements of a block were read, and reports whether all of
// them have been read now.
func noteRead(partly map[uint32]int, block uint32, n int, used uint32) bool {
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

// blockOf returns the block of a piece.
func blockOf[E arena.Word](p *pool.Pool[E], piece []E) uint32 {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(piece)))
	start -= uintptr(unsafe.Pointer(unsafe.SliceData(p.Elems)))
	return uint32(start / unsafe.Sizeof(piece[0]) >> p.BlockShift)
}

// joinLeaves joins neighboring leaves with at most the given number of elements together, and packs
// all leaves. This limits the number of leaves and of partial blocks, however often buckets are
// split.
func (s splitter[K, E]) joinLeaves(
	leaves []leaf[K],
	most int64,
) []leaf[K] {
	merged := leaves[:0]
	for _, l := range leaves {
		n := len(merged)
		if n > 0 && merged[n-1].canJoin(&l) &&
			merged[n-1].count+l.count <= most {
			s.pipeline.pool.Join(&merged[n-1].List, l.List)
			merged[n-1].count += l.count
			merged[n-1].high = l.high
			continue
		}
		merged = append(merged, l)
	}

	for i := range merged {
		merged[i].List = s.pipeline.pool.Pack(
			merged[i].zone,
			merged[i].List,
			s.pipeline.sizes.whole,
		)
	}
	return merged
}

// canJoin reports whether a leaf can be joined with the next one: all elements of both are in
// blocks of the same zone, and their keys contain the same bits.
func (l *leaf[K]) canJoin(next *leaf[K]) bool {
	return l.isInBlocks() && next.isInBlocks() &&
		l.zone == next.zone &&
		l.keyFrom == next.keyFrom
}

// isInBlocks reports whether all elements of a leaf are in the blocks of its list, unsorted.
func (l *leaf[K]) isInBlocks() bool {
	return !l.isSorted && !l.ordered && l.majorityCount == 0
}

// leafSample is the number of sampled keys of a leaf that determine how to split it.
const leafSample = 8192

// survey returns the least and the greatest key of a leaf, and a sample from evenly spaced
// positions. The sample is valid until the next call. Each worker collects its own results,
// because the pieces of a small chunk are small and numerous.
func (s splitter[K, E]) survey(
	ctx context.Context,
	l leaf[K],
	workers int,
) (sample []K, low, high K, err error) {
	step := int(l.count/leafSample) + 1
	for _, w := range s.pipeline.workers[:workers] {
		w.low = ^K(0)
		w.high = 0
		w.sample = w.sample[:0]
		w.toNextSample = 0
	}
	err = s.pipeline.eachPiece(ctx, workers, l, func(_ int, w *worker[K, E], piece []E) {
		for elems := range slices.Chunk(piece, len(w.batchKeys)) {
			keys := s.pipeline.kind.keysOf(w, elems, l.keyFrom)
			least, greatest := radix.MinMax(keys)
			w.low = min(w.low, least)
			w.high = max(w.high, greatest)
			for ; w.toNextSample < len(keys); w.toNextSample += step {
				w.sample = append(w.sample, keys[w.toNextSample])
			}
			w.toNextSample -= len(keys)
		}
	})
	first := s.pipeline.workers[0]
	for _, w := range s.pipeline.workers[1:workers] {
		first.low = min(first.low, w.low)
		first.high = max(first.high, w.high)
		first.sample = append(first.sample, w.sample...)
	}
	return first.sample, first.low, first.high, err
}

// eachPiece calls f for all elements of a leaf. Each worker handles a consecutive share, in input
// order if that is known. f may recycle the blocks that it has read.
func (p *pipeline[K, E]) eachPiece(
	ctx context.Context,
	workers int,
	l leaf[K],
	f func(i int, w *worker[K, E], piece []E),
) error {
	var found sync.WaitGroup // waits until all workers have found the start of their share
	found.Add(workers)
	return device.Each(ctx, workers, func(ctx context.Context, i int) error {
		start := sync.OnceFunc(func() {
			found.Done()
			found.Wait()
		})
		defer start()

		from := l.count * int64(i) / int64(workers)
		left := l.count*int64(i+1)/int64(workers) - from

		for piece := range p.pieces(&l, from) {
			start()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			piece = piece[:min(int64(len(piece)), left)]
			f(i, p.workers[i], piece)
			left -= int64(len(piece))
			if left == 0 {
				break
			}
		}

		return nil
	})
}
