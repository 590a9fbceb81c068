package cpu

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"sync/atomic"
)

// heavies are elements of which there are so many that a scatter counts them and does not move them to blocks: at most one
// in each bucket. Of 2^27 keys with a Zipf distribution over 2^24 values, a third is never written so. Sample sort calls their
// like equality buckets (Axtmann, Witt, Ferizovic and Sanders, "In-place Parallel Super Scalar Samplesort (IPS4o)", 2017).
//
// An element that is counted takes the way of all others, without a branch: it is put where the next one will be.
type heavies[E element] struct {
	slots     []uint16 // of each bucket the number of its heavy element, from 1; 0: it has none
	values    []E
	perBucket []uint64 // the heavy element of each bucket, or one that cannot be in it
}

const (
	// maxHeavies is the greatest number of elements that are counted.
	maxHeavies = 256

	// fewestHeavy is how often an element must be in a sample to be taken for heavy: less may be chance.
	fewestHeavy = 8

	// countShift is where combiner.next counts the heavy elements of a bucket, above what it is for. scatter_amd64.s knows it.
	countShift = 36

	// countedAtMost is how many elements are added before the counters are emptied, which they do not exceed.
	countedAtMost = 1 << 27
)

// candidate is the element that may be heavy in a bucket.
type candidate[E element] struct {
	value  E
	bucket int
	lead   int
	count  int // how often the sample has it
	total  int // elements of the sample in the bucket
}

// prevails reports whether most of the sample in the bucket is the candidate.
func (c candidate[E]) prevails() bool { return 2*c.count > c.total }

// candidatesOf are, of each bucket, the element that more than half of a sample's there are equal to, or if there is none any one
// (Boyer and Moore's majority vote).
func candidatesOf[E element](sample []E, b buckets[E]) []candidate[E] {
	candidates := make([]candidate[E], b.count())
	for i := range candidates {
		candidates[i].bucket = i
	}
	for _, e := range sample {
		switch c := &candidates[b.of(e)]; {
		case e == c.value && c.lead > 0:
			c.lead++
		case c.lead == 0:
			c.value, c.lead = e, 1
		default:
			c.lead--
		}
	}
	for _, e := range sample {
		c := &candidates[b.of(e)]
		c.total++
		if e == c.value {
			c.count++
		}
	}
	return candidates
}

// heaviesOf chooses the elements of a sample that are more than half of their bucket, the most frequent ones if there are
// more than limit; nil if there are none.
func heaviesOf[E element](sample []E, b buckets[E], limit int) *heavies[E] {
	if limit == 0 {
		return nil
	}
	candidates := candidatesOf(sample, b)
	candidates = slices.DeleteFunc(candidates, func(c candidate[E]) bool {
		return c.count < fewestHeavy || !c.prevails()
	})
	slices.SortFunc(candidates, func(a, b candidate[E]) int { return cmp.Compare(b.count, a.count) })
	candidates = candidates[:min(len(candidates), limit)]
	if len(candidates) == 0 {
		return nil
	}
	h := &heavies[E]{slots: make([]uint16, b.count()), perBucket: make([]uint64, b.count())}
	h.perBucket[0] = uint64(^E(0)) // is in the last bucket, as 0, which the others have, is in the first
	for _, c := range candidates {
		h.values = append(h.values, c.value)
		h.slots[c.bucket], h.perBucket[c.bucket] = uint16(len(h.values)), uint64(c.value)
	}
	return h
}

// countHeavy has heavy elements counted. REQUIRES: nothing was added since reset.
func (s *scatterer[E]) countHeavy(h *heavies[E]) {
	if s.heavy = h; h != nil {
		s.counts = append(s.counts[:0], make([]int64, len(h.values))...)
	}
}

// emptyCounters adds what at counts to counts.
func (s *scatterer[E]) emptyCounters() {
	s.counted = 0
	for bucket, slot := range s.heavy.slots {
		if slot > 0 {
			s.counts[slot-1] += int64(s.next[bucket] >> countShift)
			s.next[bucket] &= 1<<countShift - 1
		}
	}
}

// countOf is the heavy element of a bucket, and how often it came. REQUIRES: finish was called.
func (s *scatterer[E]) countOf(bucket int) (value E, count int64) {
	if s.heavy == nil || s.heavy.slots[bucket] == 0 {
		return value, 0
	}
	slot := s.heavy.slots[bucket] - 1
	return s.heavy.values[slot], s.counts[slot]
}

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
	value = majority(sample[:n])
	count := 0
	for _, e := range sample[:n] {
		if e == value {
			count++
		}
	}
	return value, 3*count >= n
}

// majority is the element that more than half of a are equal to, if there is one (Boyer and Moore).
func majority[E element](a []E) (value E) {
	lead := 0
	for _, e := range a {
		switch {
		case lead == 0:
			value, lead = e, 1
		case e == value:
			lead++
		default:
			lead--
		}
	}
	return value
}

// withdraw takes the elements of leaf i that are equal to value out of their blocks: they need not be kept, only counted.
func (c *chunk[E]) withdraw(ctx context.Context, i int, value E) ([]leaf[E], error) {
	l := &c.leaves[i]
	var equal atomic.Int64
	err := c.eachBlock(ctx, c.sizes.workers, *l, func(_ *worker[E], block uint32) {
		content := c.pool.content(block)
		kept := without(content, content, value)
		c.pool.used[block] = uint32(kept)
		equal.Add(int64(len(content) - kept))
	})
	if err != nil {
		return nil, err
	}
	l.list = c.pool.prune(l.zone, l.list)
	l.heavy, l.counted = value, equal.Load()
	return c.around(ctx, i)
}

// around cuts leaf i into what is less than its heavy element, what is equal to that, and what is greater.
func (c *chunk[E]) around(ctx context.Context, i int) ([]leaf[E], error) {
	l := c.leaves[i]
	value, equal := l.heavy, l.counted
	middle := leaf[E]{list: emptyList, zone: l.zone, count: equal, low: value, high: value, from: l.from, equal: true}
	if l.count == equal {
		return []leaf[E]{middle}, nil
	}
	affordable := c.affordable(i, 2) >= 2
	l.list = c.leaves[i].list // it may have been packed
	if !affordable {
		c.putEqual(&l)
		return []leaf[E]{l}, nil
	}
	l.count, l.counted = l.count-equal, 0
	rest, err := c.distribute(ctx, l, cutAt(value))
	if err != nil {
		return nil, err
	}
	if c.pool.content(rest[0].head)[0] > value {
		return append([]leaf[E]{middle}, rest...), nil
	}
	return append([]leaf[E]{rest[0], middle}, rest[1:]...), nil
}

// insert puts the counted elements of a leaf among its others, which are in order and at the start of dst.
func (l *leaf[E]) insert(dst []E) {
	if l.counted == 0 {
		return
	}
	insertEqual(dst, int(l.count-l.counted), l.heavy)
}

// insertEqual makes the first n elements of dst, which are in order, and as many equal to value as there is room for one order.
func insertEqual[E element](dst []E, n int, value E) {
	at, _ := slices.BinarySearch(dst[:n], value)
	end := len(dst) - (n - at)
	copy(dst[end:], dst[at:n])
	fill(dst[at:end], value)
}

// fill fills a with the same pattern again and again. REQUIRES: the pattern is not empty.
func fill[T any](a []T, pattern ...T) {
	for done := copy(a, pattern); done < len(a); done *= 2 {
		copy(a[done:], a[:done])
	}
}

// putEqual puts the counted elements of a leaf into blocks. There is room: the chunk was made for all of its elements.
func (c *chunk[E]) putEqual(l *leaf[E]) {
	for l.counted > 0 {
		block := c.pool.take(l.zone)
		c.pool.push(&l.list, block)
		c.pool.used[block] = uint32(min(l.counted, int64(c.pool.block)))
		fill(c.pool.content(block), l.heavy)
		l.counted -= int64(c.pool.used[block])
	}
}

// without copies the elements of a that are not value to dst, which may be a, and returns their number: they are from value+1 to value-1,
// by way of 0. REQUIRES: dst is as long as a.
func without[E element](dst, a []E, value E) int { return within(dst, a, value+1, ^E(0)-1) }

// cutAt makes two buckets, of what is less than value and what is greater: nothing is equal to it.
func cutAt[E element](value E) buckets[E] {
	if value == 0 {
		return buckets[E]{}
	}
	shift := uint(bits.Len64(uint64(value)) - 1)
	return buckets[E]{low: value - E(1)<<shift, shift: shift, last: 1}
}
