package radix

import (
	"cmp"
	"slices"
)

const (
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

// MajorityKeys gives, of each bucket, the key to count in place of storing it, or one that cannot be in it: most of
// such a bucket is an equality bucket (Axtmann, Witt, Ferizovic and Sanders, "In-place Parallel Super Scalar
// Samplesort (IPS4o)", 2017). A key that is counted takes the way of all others, without a branch: it is put where the
// next one will be.
//
// These are the elements of a sample that are more than half of their bucket and come least times or more often in it,
// the most frequent ones if there are more than limit. It is nil if there are none.
func MajorityKeys[E Element](sample []E, b Buckets[E], limit, least int) []E {
	if limit == 0 {
		return nil
	}
	candidates := slices.DeleteFunc(candidatesOf(sample, b), func(c candidate[E]) bool {
		return c.count < max(least, minMajority) || !c.prevails()
	})
	if len(candidates) == 0 {
		return nil
	}
	slices.SortFunc(candidates, func(a, b candidate[E]) int { return cmp.Compare(b.count, a.count) })
	majority := make([]E, b.Count())
	majority[0] = ^E(0) // is in the last bucket, as 0, which the others have, is in the first
	for _, c := range candidates[:min(len(candidates), limit)] {
		majority[c.bucket] = c.value
	}
	return majority
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
