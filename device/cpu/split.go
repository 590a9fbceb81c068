package cpu

import (
	"context"
	"slices"
	"sync"

	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// splitter cuts the leaves of elements that are too large for the cache.
type splitter[E radix.Element] struct {
	engine *engine[E, E, *worker[E]]
	pool   *pool.Pool[E]
	codec  codec[E]
}

func (c *elements[E]) splitter() splitter[E] { return splitter[E]{c.engine, c.pool, c.codec} }

func (c *elements[E]) sort(ctx context.Context) error { return c.splitter().sort(ctx) }

// sort cuts the leaves that are too large again, until none is left. The rest of the work is put off until Store, where
// it overlaps with the writing.
func (s splitter[E]) sort(ctx context.Context) error {
	for i := 0; i < len(s.engine.leaves); {
		if l := &s.engine.leaves[i]; l.count <= int64(s.engine.leaf) || l.done {
			i++
			continue
		}
		if i = s.makeRoom(i); s.affordable() < 2 {
			return pool.ErrFull
		}
		parts, err := s.split(ctx, s.engine.leaves[i])
		if err != nil {
			return err
		}
		s.replace(i, parts)
	}
	return nil
}

// storeCounted makes leaves of the elements that were counted. It reports false if there is no room for that.
func (s splitter[E]) storeCounted(ctx context.Context) (bool, error) {
	for i := 0; i < len(s.engine.leaves); i++ {
		if s.engine.leaves[i].counted == 0 {
			continue
		}
		if i = s.makeRoom(i); s.affordable() < 2 {
			return false, nil
		}
		parts, err := s.around(ctx, s.engine.leaves[i])
		if err != nil {
			return false, err
		}
		s.replace(i, parts)
		i += len(parts) - 1
	}
	return true, nil
}

// replace puts parts in place of a leaf.
func (s splitter[E]) replace(i int, parts []leaf[E]) {
	s.engine.leaves = slices.Replace(s.engine.leaves, i, i+1, parts...)
}

// split cuts a leaf, or finds that its elements are all the same, or lets them hold later bits of the key.
func (s splitter[E]) split(ctx context.Context, l leaf[E]) ([]leaf[E], error) {
	if l.counted > 0 {
		return s.around(ctx, l)
	}
	low, high, err := s.rangeOf(ctx, l)
	if err != nil {
		return nil, err
	}
	tieBits := s.codec.tieBits(l.from)
	switch {
	case low>>tieBits != high>>tieBits:
		l.low, l.high = low, high
		sample := s.sampleOf(l)
		b := radix.FittedBuckets(sample, low, high, min(4*s.engine.buckets(l.count), s.affordable()), tieBits)
		parts, err := s.distribute(ctx, l, b, s.equalities(sample, b, l.count))
		return s.merge(parts, int64(s.engine.bucket/2)), err
	case tieBits == 0:
		s.pool.FreeAll(l.zone, l.List)
		l.List, l.done, l.low, l.high = pool.Empty, true, low, high
	default:
		l.from, err = s.deepen(ctx, l)
		l.low, l.high = 0, ^E(0)
	}
	return []leaf[E]{l}, err
}

// equalities chooses the majority keys to count of so many elements: those that spare two blocks, one for the leaf that
// they are in, which cannot be joined with its neighbours, and one as it keeps these apart.
func (s splitter[E]) equalities(sample []E, b radix.Buckets[E], count int64) *radix.Equalities[E] {
	least := int64(2*s.pool.Block) * int64(len(sample)) / count
	return radix.NewEqualities(sample, b, s.engine.maxEqualities(), int(least)+1)
}

// around cuts a leaf into what is less than the key that was counted, what is equal to that, and what is greater.
func (s splitter[E]) around(ctx context.Context, l leaf[E]) ([]leaf[E], error) {
	value := l.majority
	equal := leaf[E]{List: pool.Empty, zone: l.zone, count: l.counted, low: value, high: value, from: l.from, done: true}
	if l.count == l.counted {
		return []leaf[E]{equal}, nil
	}
	l.count, l.counted = l.count-l.counted, 0
	rest, err := s.distribute(ctx, l, radix.CutAt(value), nil)
	if err != nil {
		return nil, err
	}
	at := 0
	if s.pool.Content(rest[0].Head)[0] < value {
		at = 1
	}
	return slices.Insert(rest, at, equal), nil
}

// affordable is the number of buckets that a leaf can be cut into with the blocks that are free: each worker may
// need a block in every bucket, and holds one that it reads.
func (s splitter[E]) affordable() int {
	return min(s.engine.maxBuckets(), int(s.pool.Available()/int64(s.engine.sizes.workers))-1)
}

// makeRoom sees to it that leaf i can be cut, and gives its index then. Where few blocks are free, neighbours that
// fit in cache together are joined, and all blocks but one of a leaf filled: so few are not full then that there is
// room for minSplit buckets, see setBlocks.
func (s splitter[E]) makeRoom(i int) int {
	if s.affordable() < min(4*s.engine.buckets(s.engine.leaves[i].count), s.engine.maxBuckets()) {
		before := s.merge(s.engine.leaves[:i], int64(s.engine.leaf))
		after := s.merge(s.engine.leaves[i+1:], int64(s.engine.leaf))
		at := s.merge(s.engine.leaves[i:i+1], 0)
		s.engine.leaves = slices.Concat(before, at, after)
		return len(before)
	}
	return i
}

// distribute moves the elements of a leaf into buckets. Blocks that have been read are used again at once: a worker
// never needs more new ones than it has buckets, and one.
func (s splitter[E]) distribute(ctx context.Context, l leaf[E], b radix.Buckets[E], majority *radix.Equalities[E],
) ([]leaf[E], error) {
	workers := workersFor(s.engine.sizes.workers, l.count, unitBytes/s.engine.element)
	if err := s.engine.makeWorkers(workers); err != nil {
		return nil, err
	}
	for _, w := range s.engine.workers[:workers] {
		w.scatter.Reset(b.Count(), l.zone, 1)
		w.scatter.CountEqual(majority)
	}
	err := s.eachBlock(ctx, workers, l, func(w *worker[E], block uint32) {
		w.scatter.Add(&b, s.pool.Content(block))
		w.scatter.Recycle(block)
	})
	if err != nil {
		return nil, err
	}
	for _, w := range s.engine.workers[:workers] {
		w.scatter.Finish()
		w.scatter.GiveBack()
	}
	return s.engine.kind.collect(workers, b, l), nil
}

// merge joins neighbouring leaves that have at most so many elements together and packs all of them, so that leaves
// and the blocks that are not full stay few however often buckets are cut.
func (s splitter[E]) merge(leaves []leaf[E], most int64) []leaf[E] {
	merged := leaves[:0]
	for _, l := range leaves {
		if n := len(merged); n > 0 && merged[n-1].joins(&l) && merged[n-1].count+l.count <= most {
			s.pool.Join(&merged[n-1].List, l.List)
			merged[n-1].count += l.count
			merged[n-1].high = l.high
			continue
		}
		merged = append(merged, l)
	}
	for i := range merged {
		merged[i].List = s.pool.Pack(merged[i].zone, merged[i].List, false)
	}
	return merged
}

// joins reports whether a leaf and the next one can be one: all of their elements are in blocks of one zone, and
// hold the same bits of the key.
func (l *leaf[E]) joins(next *leaf[E]) bool {
	return !l.done && !next.done && l.counted == 0 && next.counted == 0 && l.zone == next.zone && l.from == next.from
}

// leafSample is how many elements of a leaf tell how to cut it.
const leafSample = 8192

// sampleOf takes elements from places all over a leaf.
func (s splitter[E]) sampleOf(l leaf[E]) []E {
	step := int(l.count/leafSample) + 1
	sample := make([]E, 0, l.count/int64(step)+1)
	at := 0
	for b := l.Head; b != pool.None; b = s.pool.Next[b] {
		content := s.pool.Content(b)
		for ; at < len(content); at += step {
			sample = append(sample, content[at])
		}
		at -= len(content)
	}
	return sample
}

// rangeOf is the least and the greatest element of a leaf.
func (s splitter[E]) rangeOf(ctx context.Context, l leaf[E]) (low, high E, err error) {
	var mu sync.Mutex
	low, high = ^E(0), E(0)
	err = s.eachBlock(ctx, s.engine.sizes.workers, l, func(_ *worker[E], block uint32) {
		blockLow, blockHigh := radix.MinMax(s.pool.Content(block))
		mu.Lock()
		defer mu.Unlock()
		low, high = min(low, blockLow), max(high, blockHigh)
	})
	return low, high, err
}

// deepen makes the elements of a leaf, which tie, hold the next bits of the key that may differ.
func (s splitter[E]) deepen(ctx context.Context, l leaf[E]) (from int, err error) {
	if from = s.codec.next(l.from); from < 0 {
		if from, err = s.agreement(ctx, l); err != nil {
			return 0, err
		}
	}
	return from, s.eachBlock(ctx, s.engine.sizes.workers, l, func(_ *worker[E], block uint32) {
		s.codec.rewindow(s.pool.Content(block), from)
	})
}

// agreement is the number of leading bits of the key that all elements of a leaf share.
func (s splitter[E]) agreement(ctx context.Context, l leaf[E]) (bits int, err error) {
	var mu sync.Mutex
	bits = 8 * s.engine.opt.Keyer.KeySize()
	pivot := s.pool.Content(l.Head)[0]
	err = s.eachBlock(ctx, s.engine.sizes.workers, l, func(_ *worker[E], block uint32) {
		agreed := s.codec.agreement(s.pool.Content(block), pivot, l.from)
		mu.Lock()
		defer mu.Unlock()
		bits = min(bits, agreed)
	})
	return bits, err
}

// eachBlock calls f for every block of a leaf, by several workers. f may take the block out of the list.
func (s splitter[E]) eachBlock(ctx context.Context, workers int, l leaf[E], f func(w *worker[E], block uint32)) error {
	var mu sync.Mutex
	rest := l.Head
	claim := func() uint32 {
		mu.Lock()
		defer mu.Unlock()
		block := rest
		if block != pool.None {
			rest = s.pool.Next[block]
		}
		return block
	}
	return s.engine.each(ctx, workers, func(ctx context.Context, _ int, w *worker[E]) error {
		for block, ahead := claim(), pool.None; block != pool.None; block = ahead {
			if err := ctx.Err(); err != nil {
				return err
			}
			if ahead = claim(); ahead != pool.None {
				radix.Prefetch(s.pool.Content(ahead))
			}
			f(w, block)
		}
		return nil
	})
}
