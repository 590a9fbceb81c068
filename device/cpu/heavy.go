package cpu

import (
	"context"
	"sync/atomic"

	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// heavy guesses, from the first elements of some blocks, the one element that makes up a third of a leaf or more.
// Only bare keys come twice: other elements hold an index.
func (c *chunk[E]) heavy(l leaf[E]) (value E, found bool) {
	if c.keptRecords > 0 {
		return 0, false
	}
	var sample [128]E
	n := 0
	for b := l.Head; b != pool.None && n < len(sample); b = c.pool.Next[b] {
		sample[n] = c.pool.Content(b)[0]
		n++
	}
	value = radix.Majority(sample[:n])
	count := 0
	for _, e := range sample[:n] {
		if e == value {
			count++
		}
	}
	return value, 3*count >= n
}

// withdraw takes the elements of leaf i that are equal to value out of their blocks: they need not be kept, only counted.
func (c *chunk[E]) withdraw(ctx context.Context, i int, value E) ([]leaf[E], error) {
	l := &c.leaves[i]
	var equal atomic.Int64
	err := c.eachBlock(ctx, c.sizes.workers, *l, func(_ *worker[E], block uint32) {
		content := c.pool.Content(block)
		kept := radix.Without(content, content, value)
		c.pool.Used[block] = uint32(kept)
		equal.Add(int64(len(content) - kept))
	})
	if err != nil {
		return nil, err
	}
	l.List = c.pool.Prune(l.zone, l.List)
	l.heavy, l.counted = value, equal.Load()
	return c.around(ctx, i)
}

// around cuts leaf i into what is less than its heavy element, what is equal to that, and what is greater.
func (c *chunk[E]) around(ctx context.Context, i int) ([]leaf[E], error) {
	l := c.leaves[i]
	value, equal := l.heavy, l.counted
	middle := leaf[E]{List: pool.Empty, zone: l.zone, count: equal, low: value, high: value, from: l.from, equal: true}
	if l.count == equal {
		return []leaf[E]{middle}, nil
	}
	affordable := c.affordable(i, 2) >= 2
	l.List = c.leaves[i].List // it may have been packed
	if !affordable {
		c.putEqual(&l)
		return []leaf[E]{l}, nil
	}
	l.count, l.counted = l.count-equal, 0
	rest, err := c.distribute(ctx, l, radix.CutAt(value))
	if err != nil {
		return nil, err
	}
	if c.pool.Content(rest[0].Head)[0] > value {
		return append([]leaf[E]{middle}, rest...), nil
	}
	return append([]leaf[E]{rest[0], middle}, rest[1:]...), nil
}

// insert puts the counted elements of a leaf among its others, which are in order and at the start of dst.
func (l *leaf[E]) insert(dst []E) {
	if l.counted == 0 {
		return
	}
	radix.InsertEqual(dst, int(l.count-l.counted), l.heavy)
}

// putEqual puts the counted elements of a leaf into blocks. There is room: the chunk was made for all of its elements.
func (c *chunk[E]) putEqual(l *leaf[E]) {
	for l.counted > 0 {
		block := c.pool.Take(l.zone)
		c.pool.Push(&l.List, block)
		c.pool.Used[block] = uint32(min(l.counted, int64(c.pool.Block)))
		radix.Fill(c.pool.Content(block), l.heavy)
		l.counted -= int64(c.pool.Used[block])
	}
}
