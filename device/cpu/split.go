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
		if l := &c.leaves[i]; l.count <= int64(c.leaf) || !l.unsorted() {
			i++
			continue
		}
		parts, err := c.split(ctx, i)
		if err != nil {
			return err
		}
		c.leaves = slices.Replace(c.leaves, i, i+1, parts...)
	}
	return nil
}

// split cuts leaf i, or finds that it is in order, or lets its elements hold later bits of the key.
func (c *chunk[E]) split(ctx context.Context, i int) ([]leaf[E], error) {
	if c.leaves[i].counted > 0 {
		return c.around(ctx, i)
	}
	if value, found := c.heavy(c.leaves[i]); found && c.affordable(i, 2) >= 2 {
		return c.withdraw(ctx, i, value)
	}
	l := c.leaves[i]
	low, high, err := c.rangeOf(ctx, l)
	if err != nil {
		return nil, err
	}
	tieBits := c.codec.tieBits(l.from)
	if low>>tieBits == high>>tieBits {
		if tieBits == 0 {
			c.pool.Prune(l.zone, c.pool.Emptied(l.List))
			l.List, l.equal, l.low, l.high = pool.Empty, true, low, high
			return []leaf[E]{l}, nil
		}
		l.from, err = c.deepen(ctx, l)
		l.low, l.high = 0, ^E(0)
		return []leaf[E]{l}, err
	}
	count := c.affordable(i, 4*c.buckets(l.count))
	l.List = c.leaves[i].List // it may have been packed
	if count < 2 {
		l.ordered = true
		return []leaf[E]{l}, c.guarded(func() error { sortBlocks(c.pool, l.List, c.codec.less); return nil })
	}
	l.low, l.high = low, high
	parts, err := c.distribute(ctx, l, radix.FittedBuckets(c.sampleOf(l), low, high, count, tieBits))
	return c.merge(parts), err
}

// affordable is the number of buckets, at most wanted, that leaf i can be cut into with the blocks that are free and not owed
// to counted elements. Each worker may need a block in every bucket, and holds one that it reads.
func (c *chunk[E]) affordable(i, wanted int) int {
	wanted = min(wanted, c.maxBuckets())
	owed := c.owed()
	count := func() int { return int((c.pool.Available()-owed)/int64(c.sizes.workers)) - 1 }
	if count() < wanted {
		for i := range c.leaves {
			c.leaves[i].List = c.pool.Pack(c.leaves[i].zone, c.leaves[i].List)
		}
	}
	return min(wanted, count())
}

// owed is the number of blocks that putEqual may yet need for counted elements.
func (c *chunk[E]) owed() (blocks int64) {
	for i := range c.leaves {
		blocks += (c.leaves[i].counted + int64(c.pool.Block) - 1) / int64(c.pool.Block)
	}
	return blocks
}

// distribute moves the elements of a leaf into buckets. Blocks that have been read are used again at once: a worker
// never needs more new ones than it has buckets, and one.
func (c *chunk[E]) distribute(ctx context.Context, l leaf[E], b radix.Buckets[E]) ([]leaf[E], error) {
	workers := workersFor(c.sizes.workers, l.count, c.unitOfElements())
	if err := c.makeWorkers(workers); err != nil {
		return nil, err
	}
	for _, w := range c.workers[:workers] {
		w.scatter.Reset(b.Count(), l.zone, 1)
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
	return c.collect(nil, c.workers[:workers], b, l), nil
}

func (c *chunk[E]) unitOfElements() int { return unitBytes / c.element }

// merge joins neighbouring leaves that are small together and packs all of them, so that leaves and the blocks
// that are not full stay few however often buckets are cut.
func (c *chunk[E]) merge(leaves []leaf[E]) []leaf[E] {
	small := int64(c.bucket / 2)
	merged := leaves[:0]
	for _, l := range leaves {
		if n := len(merged); n > 0 && merged[n-1].count+l.count <= small {
			c.pool.Join(&merged[n-1].List, l.List)
			merged[n-1].count += l.count
			merged[n-1].high = l.high
			continue
		}
		merged = append(merged, l)
	}
	for i := range merged {
		merged[i].List = c.pool.Pack(merged[i].zone, merged[i].List)
	}
	return merged
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
	return c.each(ctx, workers, func(ctx context.Context, w *worker[E]) error {
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
