package cpu

import (
	"context"
	"math/bits"
	"sync/atomic"
)

// heavy guesses, from the first elements of some blocks, the one element that makes up a third of a leaf or more.
// Only bare keys come twice: other elements hold an index.
func (c *chunk[E]) heavy(l leaf[E]) (value E, found bool) {
	if c.keptRecords > 0 {
		return 0, false
	}
	var sample [128]E
	n := 0
	for b := l.head; b != none && n < len(sample); b = c.pool.next[b] {
		sample[n] = c.pool.content(b)[0]
		n++
	}
	value, lead := sample[0], 0 // majority vote (Boyer and Moore)
	for _, e := range sample[:n] {
		switch {
		case e == value:
			lead++
		case lead == 0:
			value, lead = e, 1
		default:
			lead--
		}
	}
	count := 0
	for _, e := range sample[:n] {
		if e == value {
			count++
		}
	}
	return value, 3*count >= n
}

// withdraw cuts leaf i into what is less than value, what is equal to it, and what is greater. The equal elements
// need not be kept: they are counted while the others move together in their blocks.
func (c *chunk[E]) withdraw(ctx context.Context, i int, value E) ([]leaf[E], error) {
	l := c.leaves[i]
	var equal atomic.Int64
	err := c.eachBlock(ctx, c.sizes.workers, l, func(_ *worker[E], block uint32) {
		content := c.pool.content(block)
		kept := without(content, value)
		c.pool.used[block] = uint32(kept)
		equal.Add(int64(len(content) - kept))
	})
	if err != nil {
		return nil, err
	}
	l.list = c.pool.prune(l.zone, l.list)
	l.count -= equal.Load()
	middle := leaf[E]{list: emptyList, zone: l.zone, count: equal.Load(), low: value, high: value, from: l.from, equal: true}
	if l.count == 0 {
		return []leaf[E]{middle}, nil
	}
	rest, err := c.distribute(ctx, l, cutAt(value))
	if err != nil {
		return nil, err
	}
	if c.pool.content(rest[0].head)[0] > value {
		return append([]leaf[E]{middle}, rest...), nil
	}
	return append([]leaf[E]{rest[0], middle}, rest[1:]...), nil
}

// without moves the elements of a that are not value to its start and returns their number.
func without[E element](a []E, value E) int {
	kept := 0
	for _, e := range a {
		a[kept] = e
		if e != value {
			kept++
		}
	}
	return kept
}

// cutAt makes two buckets, of what is less than value and what is greater: nothing is equal to it.
func cutAt[E element](value E) buckets[E] {
	if value == 0 {
		return buckets[E]{}
	}
	shift := uint(bits.Len64(uint64(value)) - 1)
	return buckets[E]{low: value - E(1)<<shift, shift: shift, last: 1}
}
