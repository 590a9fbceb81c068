package cpu

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// Keep finishes the leaves where they lie: the elements of each, which fit in cache, go back into its blocks in order.
// Then the scratch of the workers and whatever memory an earlier, larger content has touched go back to the system.
// A read follows the blocks of a leaf and makes records of their elements. Records that were left where they lie are not kept.
func (c *chunk[E]) Keep(ctx context.Context, limit, memoryBytes int64) (*device.Kept, error) {
	defer seconds(&c.stats.Store, time.Now())
	if limit < 0 || limit > c.stats.Records {
		limit = c.stats.Records
	}
	if c.keptBytes() > memoryBytes || c.mapping != nil {
		return nil, nil
	}
	if err := c.separate(ctx); err != nil {
		return nil, err
	}
	if c.keptBytes() > memoryBytes { // leaves that were cut take more blocks
		return nil, nil
	}
	if err := c.finishAll(ctx, limit); err != nil {
		return nil, err
	}
	c.countPasses()
	if err := c.shrink(); err != nil {
		return nil, err
	}
	k := &keeping[E]{chunk: c}
	blocks := k.index(limit)
	return &device.Kept{Blocks: blocks, Bytes: c.keptBytes(), Read: func(i int, dst []byte) ([]byte, error) {
		return k.read(k.starts[i], dst[:blocks[i].Records*c.record]), nil
	}}, nil
}

// separate makes leaves of the counted elements, which have no room in the blocks of their leaves.
func (c *chunk[E]) separate(ctx context.Context) error {
	for i := 0; i < len(c.leaves); i++ {
		if c.leaves[i].counted == 0 {
			continue
		}
		parts, err := c.around(ctx, i)
		if err != nil {
			return err
		}
		c.leaves = slices.Replace(c.leaves, i, i+1, parts...)
		i += len(parts) - 1
	}
	return nil
}

// keptBytes is the memory of the loaded records without the scratch of the workers.
func (c *chunk[E]) keptBytes() int64 {
	perBlock := int64(c.sizes.block*c.element + 8) // as in sizes.memory
	return c.pool.Touched()*perBlock + c.stats.Records*int64(c.keptRecords)
}

// finishAll finishes the leaves that hold the first limit records.
func (c *chunk[E]) finishAll(ctx context.Context, limit int64) error {
	end := 0
	for at := int64(0); end < len(c.leaves) && at < limit; end++ {
		at += c.leaves[end].count
	}
	workers := max(1, min(end, c.sizes.workers))
	if err := c.makeWorkers(workers); err != nil {
		return err
	}
	var claimed atomic.Int64
	return c.each(ctx, workers, func(ctx context.Context, w *worker[E]) error {
		for i := int(claimed.Add(1)) - 1; i < end; i = int(claimed.Add(1)) - 1 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if l := &c.leaves[i]; l.unsorted() {
				c.putBack(*l, c.finish(w, *l, w.a))
				l.ordered = true
			}
		}
		return nil
	})
}

// putBack spreads elems over the blocks of their leaf.
func (c *chunk[E]) putBack(l leaf[E], elems []E) {
	for b := l.Head; b != pool.None; b = c.pool.Next[b] {
		elems = elems[copy(c.pool.Content(b), elems):]
	}
}

// shrink gives back the memory that the loaded records do not need.
func (c *chunk[E]) shrink() error {
	for i, w := range c.workers {
		if w == nil {
			continue
		}
		c.workers[i] = nil
		if err := w.memory.Free(); err != nil {
			return err
		}
	}
	c.pool.Memory.Discard(int(c.pool.Touched())*c.sizes.block*c.element, len(c.pool.Memory.Bytes()))
	if c.kept != nil {
		c.kept.Discard(int(c.stats.Records)*c.record, len(c.kept.Bytes()))
	}
	return nil
}

// keeping is a chunk that is read where it lies.
type keeping[E radix.Element] struct {
	chunk  *chunk[E]
	starts []cursor // of the blocks that can be read
}

// cursor is the place of an element.
type cursor struct {
	leaf  int
	block uint32 // of the leaf
	at    int64  // in the block; in the leaf if its elements are all the same and it has no blocks
}

// index cuts the first limit records into blocks of the size that Store would write.
func (k *keeping[E]) index(limit int64) []device.KeptBlock {
	c := k.chunk
	var blocks []device.KeptBlock
	record := make([]byte, c.record)
	at := k.begin(0)
	for first := int64(0); first < limit; first += int64(c.out) {
		n := int(min(int64(c.out), limit-first))
		k.starts = append(k.starts, at)
		key := c.opt.Keyer.Append(nil, k.read(at, record))
		blocks = append(blocks, device.KeptBlock{First: first, Records: n, Key: key})
		for n > 0 {
			stretch := k.stretch(at, n)
			at = k.after(at, stretch)
			n -= stretch
		}
	}
	return blocks
}

// begin is the place of the first element of a leaf.
func (k *keeping[E]) begin(leaf int) cursor {
	at := cursor{leaf: leaf}
	if leaf < len(k.chunk.leaves) {
		at.block = k.chunk.leaves[leaf].Head
	}
	return at
}

// stretch is how many elements lie together from a place on, n at most, or are all the same. REQUIRES: there are more.
func (k *keeping[E]) stretch(at cursor, n int) int {
	if l := &k.chunk.leaves[at.leaf]; l.equal {
		return int(min(int64(n), l.count-at.at))
	}
	return int(min(int64(n), int64(k.chunk.pool.Used[at.block])-at.at))
}

// after is the place so many elements after another. REQUIRES: they are of one stretch.
func (k *keeping[E]) after(at cursor, stretch int) cursor {
	c := k.chunk
	at.at += int64(stretch)
	switch l := &c.leaves[at.leaf]; {
	case l.equal:
		if at.at == l.count {
			return k.begin(at.leaf + 1)
		}
	case at.at == int64(c.pool.Used[at.block]):
		if at.block, at.at = c.pool.Next[at.block], 0; at.block == pool.None {
			return k.begin(at.leaf + 1)
		}
	}
	return at
}

// equalStretch is how many elements of a leaf without blocks are made at a time.
const equalStretch = 512

// read fills dst with the records from a place on.
func (k *keeping[E]) read(at cursor, dst []byte) []byte {
	c := k.chunk
	var equal []E // scratch
	for rest := dst; len(rest) > 0; {
		n := k.stretch(at, len(rest)/c.record)
		var elems []E
		if l := &c.leaves[at.leaf]; l.equal {
			n = min(n, equalStretch)
			equal = slices.Grow(equal[:0], n)[:n]
			radix.Fill(equal, l.low)
			elems = equal
		} else {
			elems = c.pool.Content(at.block)[at.at:][:n]
		}
		recs := moved(rest, c.codec.records(rest, elems))
		rest, at = rest[len(recs):], k.after(at, n)
	}
	return dst
}
