package radix

import (
	"cmp"
	"slices"
)

// Equalities are majority keys, at most one in each bucket, that a scatter counts in place of storing them: most of
// such a bucket is an equality bucket (Axtmann, Witt, Ferizovic and Sanders, "In-place Parallel Super Scalar
// Samplesort (IPS4o)", 2017).
//
// A key that is counted takes the way of all others, without a branch: it is put where the next one will be.
type Equalities[E Element] struct {
	slots     []uint16 // of each bucket the number of its majority key, from 1; 0: it has none
	values    []E
	perBucket []uint64 // the majority key of each bucket, or one that cannot be in it
}

const (
	// MaxEqualities is the greatest number of elements that are counted.
	MaxEqualities = 256

	// minMajority is how often an element must be in a sample to be taken for a majority key: less may be chance.
	minMajority = 8

	// countShift is where combiner.next counts the majority keys of a bucket, above what it is for. scatter_amd64.s
	// knows it.
	countShift = 36

	// maxUncounted is how many elements are added before the counters are emptied, which they do not exceed.
	maxUncounted = 1 << 27
)

// candidate is the element that may be the majority key of a bucket.
type candidate[E Element] struct {
	value  E
	bucket int
	lead   int
	count  int // how often the sample has it
	total  int // elements of the sample in the bucket
}

// prevails reports whether most of the sample in the bucket is the candidate.
func (c candidate[E]) prevails() bool { return 2*c.count > c.total }

// candidatesOf are, of each bucket, the element that more than half of a sample's there are equal to, or if there
// is none any one (Boyer and Moore's majority vote).
func candidatesOf[E Element](sample []E, b Buckets[E]) []candidate[E] {
	candidates := make([]candidate[E], b.Count())
	for i := range candidates {
		candidates[i].bucket = i
	}
	for _, e := range sample {
		switch c := &candidates[b.Of(e)]; {
		case e == c.value && c.lead > 0:
			c.lead++
		case c.lead == 0:
			c.value, c.lead = e, 1
		default:
			c.lead--
		}
	}
	for _, e := range sample {
		c := &candidates[b.Of(e)]
		c.total++
		if e == c.value {
			c.count++
		}
	}
	return candidates
}

// NewEqualities chooses the elements of a sample that are more than half of their bucket and come least times or more
// often in it, the most frequent ones if there are more than limit; nil if there are none.
func NewEqualities[E Element](sample []E, b Buckets[E], limit, least int) *Equalities[E] {
	if limit == 0 {
		return nil
	}
	candidates := candidatesOf(sample, b)
	candidates = slices.DeleteFunc(candidates, func(c candidate[E]) bool {
		return c.count < max(least, minMajority) || !c.prevails()
	})
	slices.SortFunc(candidates, func(a, b candidate[E]) int { return cmp.Compare(b.count, a.count) })
	candidates = candidates[:min(len(candidates), limit)]
	if len(candidates) == 0 {
		return nil
	}
	h := &Equalities[E]{slots: make([]uint16, b.Count()), perBucket: make([]uint64, b.Count())}
	h.perBucket[0] = uint64(^E(0)) // is in the last bucket, as 0, which the others have, is in the first
	for _, c := range candidates {
		h.values = append(h.values, c.value)
		h.slots[c.bucket], h.perBucket[c.bucket] = uint16(len(h.values)), uint64(c.value)
	}
	return h
}

// CountEqual has majority keys counted. REQUIRES: nothing was added since reset.
func (s *Scatterer[K, E]) CountEqual(h *Equalities[K]) {
	if s.equalities = h; h != nil {
		s.counts = append(s.counts[:0], make([]int64, len(h.values))...)
	}
}

// emptyCounters adds what at counts to counts.
func (s *Scatterer[K, E]) emptyCounters() {
	s.counted = 0
	for bucket, slot := range s.equalities.slots {
		if slot > 0 {
			s.counts[slot-1] += int64(s.next[bucket] >> countShift)
			s.next[bucket] &= 1<<countShift - 1
		}
	}
}

// CountOf is the majority key of a bucket, and how often it came. REQUIRES: finish was called.
func (s *Scatterer[K, E]) CountOf(bucket int) (value K, count int64) {
	if s.equalities == nil || s.equalities.slots[bucket] == 0 {
		return value, 0
	}
	slot := s.equalities.slots[bucket] - 1
	return s.equalities.values[slot], s.counts[slot]
}

// InsertEqual makes the first n elements of dst, which are in order, and as many equal to value as there is room
// for one order.
func InsertEqual[E Element](dst []E, n int, value E) {
	at, _ := slices.BinarySearch(dst[:n], value)
	end := len(dst) - (n - at)
	copy(dst[end:], dst[at:n])
	Fill(dst[at:end], value)
}

// Fill fills a with the same pattern again and again. REQUIRES: the pattern is not empty.
func Fill[T any](a []T, pattern ...T) {
	for done := copy(a, pattern); done < len(a); done *= 2 {
		copy(a[done:], a[:done])
	}
}
