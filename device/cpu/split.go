package cpu

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// Sort cuts the buckets that are too large to be sorted in cache again, until none is left. The rest of the work is
// put off until Store, where it overlaps with the writing.
func (c *chunk[E]) Sort(ctx context.Context) error {
	defer seconds(&c.stats.Sort, time.Now())
	for i := 0; i < len(c.leaves); {
		if l := &c.leaves[i]; l.count <= int64(c.leaf) || l.done {
			i++
			continue
		}
		if i = c.makeRoom(i); c.affordable() < 2 {
			return pool.ErrFull
		}
		parts, err := c.split(ctx, c.leaves[i])
		if err != nil {
			return err
		}
		c.leaves = slices.Replace(c.leaves, i, i+1, parts...)
	}
	return nil
}

// split cuts a leaf, or finds that its elements are all the same, or lets them hold later bits of the key.
func (c *chunk[E]) split(ctx context.Context, l leaf[E]) ([]leaf[E], error) {
	if l.counted > 0 {
		return c.around(ctx, l)
	}
	low, high, err := c.rangeOf(ctx, l)
	if err != nil {
		return nil, err
	}
	tieBits := c.codec.tieBits(l.from)
	switch {
	case low>>tieBits != high>>tieBits:
		l.low, l.high = low, high
		sample := c.sampleOf(l)
		b := radix.FittedBuckets(sample, low, high, min(4*c.buckets(l.count), c.affordable()), tieBits)
		parts, err := c.distribute(ctx, l, b, radix.NewEqualities(sample, b, c.maxEqualities()))
		return c.merge(parts, int64(c.bucket/2)), err
	case tieBits == 0:
		c.pool.FreeAll(l.zone, l.List)
		l.List, l.done, l.low, l.high = pool.Empty, true, low, high
	default:
		l.from, err = c.deepen(ctx, l)
		l.low, l.high = 0, ^E(0)
	}
	return []leaf[E]{l}, err
}

// around cuts a leaf into what is less than the key that was counted, what is equal to that, and what is greater.
func (c *chunk[E]) around(ctx context.Context, l leaf[E]) ([]leaf[E], error) {
	value := l.majority
	equal := leaf[E]{List: pool.Empty, zone: l.zone, count: l.counted, low: value, high: value, from: l.from, done: true}
	if l.count == l.counted {
		return []leaf[E]{equal}, nil
	}
	l.count, l.counted = l.count-l.counted, 0
	rest, err := c.distribute(ctx, l, radix.CutAt(value), nil)
	if err != nil {
		return nil, err
	}
	at := 0
	if c.pool.Content(rest[0].Head)[0] < value {
		at = 1
	}
	return slices.Insert(rest, at, equal), nil
}

// affordable is the number of buckets that a leaf can be cut into with the blocks that are free: each worker may
// need a block in every bucket, and holds one that it reads.
func (c *chunk[E]) affordable() int {
	return min(c.maxBuckets(), int(c.pool.Available()/int64(c.sizes.workers))-1)
}

// makeRoom sees to it that leaf i can be cut, and gives its index then. Where few blocks are free, neighbours that
// fit in cache together are joined, and all blocks but one of a leaf filled: so few are not full then that there is
// room for minSplit buckets, see setBlocks.
func (c *chunk[E]) makeRoom(i int) int {
	if c.affordable() < min(4*c.buckets(c.leaves[i].count), c.maxBuckets()) {
		before := c.merge(c.leaves[:i], int64(c.leaf))
		after := c.merge(c.leaves[i+1:], int64(c.leaf))
		at := c.merge(c.leaves[i:i+1], 0)
		c.leaves = slices.Concat(before, at, after)
		return len(before)
	}
	return i
}

// distribute moves the elements of a leaf into buckets. Blocks that have been read are used again at once: a worker
// never needs more new ones than it has buckets, and one.
func (c *chunk[E]) distribute(ctx context.Context, l leaf[E], b radix.Buckets[E], majority *radix.Equalities[E],
) ([]leaf[E], error) {
	workers := workersFor(c.sizes.workers, l.count, c.unitOfElements())
	if err := c.makeWorkers(workers); err != nil {
		return nil, err
	}
	for _, w := range c.workers[:workers] {
		w.scatter.Reset(b.Count(), l.zone, 1)
		w.scatter.CountEqual(majority)
	}
	err := c.eachBlock(ctx, workers, l, func(w *worker[E], block uint32) {
		w.scatter.Add(&b, c.pool.Content(block))
		w.scatter.Recycle(block)
	})
	if err != nil {
		return nil, err
	}
	for _, w := range c.workers[:workers] {
		w.scatter.Finish()
		w.scatter.GiveBack()
	}
	return c.collect(workers, b, l), nil
}

func (c *chunk[E]) unitOfElements() int { return unitBytes / c.element }

// merge joins neighbouring leaves that have at most so many elements together and packs all of them, so that leaves
// and the blocks that are not full stay few however often buckets are cut.
func (c *chunk[E]) merge(leaves []leaf[E], most int64) []leaf[E] {
	merged := leaves[:0]
	for _, l := range leaves {
		if n := len(merged); n > 0 && merged[n-1].joins(&l) && merged[n-1].count+l.count <= most {
			c.pool.Join(&merged[n-1].List, l.List)
			merged[n-1].count += l.count
			merged[n-1].high = l.high
			continue
		}
		merged = append(merged, l)
	}
	for i := range merged {
		merged[i].List = c.pool.Pack(merged[i].zone, merged[i].List, false)
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
func (c *chunk[E]) sampleOf(l leaf[E]) []E {
	step := int(l.count/leafSample) + 1
	sample := make([]E, 0, l.count/int64(step)+1)
	at := 0
	for b := l.Head; b != pool.None; b = c.pool.Next[b] {
		content := c.pool.Content(b)
		for ; at < len(content); at += step {
			sample = append(sample, content[at])
		}
		at -= len(content)
	}
	return sample
}

// rangeOf is the least and the greatest element of a leaf.
func (c *chunk[E]) rangeOf(ctx context.Context, l leaf[E]) (low, high E, err error) {
	var mu sync.Mutex
	low, high = ^E(0), E(0)
	err = c.eachBlock(ctx, c.sizes.workers, l, func(_ *worker[E], block uint32) {
		blockLow, blockHigh := radix.MinMax(c.pool.Content(block))
		mu.Lock()
		defer mu.Unlock()
		low, high = min(low, blockLow), max(high, blockHigh)
	})
	return low, high, err
}

// deepen makes the elements of a leaf, which tie, hold the next bits of the key that may differ.
func (c *chunk[E]) deepen(ctx context.Context, l leaf[E]) (from int, err error) {
	if from = c.codec.next(l.from); from < 0 {
		if from, err = c.agreement(ctx, l); err != nil {
			return 0, err
		}
	}
	return from, c.eachBlock(ctx, c.sizes.workers, l, func(_ *worker[E], block uint32) {
		c.codec.rewindow(c.pool.Content(block), from)
	})
}

// agreement is the number of leading bits of the key that all elements of a leaf share.
func (c *chunk[E]) agreement(ctx context.Context, l leaf[E]) (bits int, err error) {
	var mu sync.Mutex
	bits = 8 * c.opt.Keyer.KeySize()
	pivot := c.pool.Content(l.Head)[0]
	err = c.eachBlock(ctx, c.sizes.workers, l, func(_ *worker[E], block uint32) {
		agreed := c.codec.agreement(c.pool.Content(block), pivot, l.from)
		mu.Lock()
		defer mu.Unlock()
		bits = min(bits, agreed)
	})
	return bits, err
}

// eachBlock calls f for every block of a leaf, by several workers. f may take the block out of the list.
func (c *chunk[E]) eachBlock(ctx context.Context, workers int, l leaf[E], f func(w *worker[E], block uint32)) error {
	var mu sync.Mutex
	rest := l.Head
	claim := func() uint32 {
		mu.Lock()
		defer mu.Unlock()
		block := rest
		if block != pool.None {
			rest = c.pool.Next[block]
		}
		return block
	}
	return c.each(ctx, workers, func(ctx context.Context, _ int, w *worker[E]) error {
		for block, ahead := claim(), pool.None; block != pool.None; block = ahead {
			if err := ctx.Err(); err != nil {
				return err
			}
			if ahead = claim(); ahead != pool.None {
				radix.Prefetch(c.pool.Content(ahead))
			}
			f(w, block)
		}
		return nil
	})
}
