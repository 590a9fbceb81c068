package radix

import (
	"cmp"
	"slices"
)

const (
	// minMajority is how often an element must occur in a sample to be considered a majority key.
	// Fewer occurrences may be a coincidence.
	minMajority = 8

	// countShift is the bit of combiner.next from which on it counts the majority key of a
	// bucket. scatter_amd64.s depends on it.
	countShift = 36

	// maxUncounted is the number of elements after which the counters in combiner.next are
	// emptied, so that they do not overflow.
	maxUncounted = 1 << 27
)

// A candidate is an element that may be the majority key of a bucket.
type candidate[E Element] struct {
	value  E
	bucket int
	votes  int
	count  int // number of occurrences in the sample
	total  int // number of sampled elements in the bucket
}

// prevails reports whether the candidate is the majority of the sampled elements in the bucket.
func (c candidate[E]) prevails() bool {
	return 2*c.count > c.total
}

// candidatesOf returns, for each bucket, the element that is the majority of its sampled
// elements, or any element if there is no majority (Boyer and Moore's majority vote).
func candidatesOf[E Element](sample []E, b Buckets[E]) []candidate[E] {
	candidates := make([]candidate[E], b.Count())
	for i := range candidates {
		candidates[i].bucket = i
	}
	for _, e := range sample {
		switch c := &candidates[b.BucketOf(e)]; {
		case e == c.value && c.votes > 0:
			c.votes++
		case c.votes == 0:
			c.value = e
			c.votes = 1
		default:
			c.votes--
		}
	}

	for _, e := range sample {
		c := &candidates[b.BucketOf(e)]
		c.total++
		if e == c.value {
			c.count++
		}
	}

	return candidates
}

// MajorityKeys returns, for each bucket, the key that is counted rather than stored, or a key
// that cannot occur in it. A bucket with a majority key is mostly an equality bucket (Axtmann,
// Witt, Ferizovic and Sanders, "In-place Parallel Super Scalar Samplesort (IPS4o)", 2017). A
// counted key takes the same path as all others, without a branch: it is stored in the place of
// the next element.
//
// Majority keys are the elements of a sample that are the majority of their bucket and occur at
// least least times. If there are more than limit, MajorityKeys returns the most frequent ones.
// It returns nil if none exist.
func MajorityKeys[E Element](
	sample []E,
	b Buckets[E],
	limit, least int,
) []E {
	if limit == 0 {
		return nil
	}
	candidates := slices.DeleteFunc(candidatesOf(sample, b), func(c candidate[E]) bool {
		return c.count < max(least, minMajority) || !c.prevails()
	})
	if len(candidates) == 0 {
		return nil
	}
	slices.SortFunc(candidates, func(a, b candidate[E]) int {
		return cmp.Compare(b.count, a.count)
	})
	majority := make([]E, b.Count())
	// this key belongs to the last bucket; 0, the value for the others, belongs to the first
	majority[0] = ^E(0)
	for _, c := range candidates[:min(len(candidates), limit)] {
		majority[c.bucket] = c.value
	}
	return majority
}

// InsertEqual inserts copies of value into the first n elements of dst, which are sorted, so that
// dst is sorted and full.
func InsertEqual[E Element](dst []E, n int, value E) {
	at, _ := slices.BinarySearch(dst[:n], value)
	end := len(dst) - (n - at)
	copy(dst[end:], dst[at:n])
	Fill(dst[at:end], value)
}

// Fill fills a with repetitions of the pattern. REQUIRES: the pattern is not empty
func Fill[T any](a []T, pattern ...T) {
	for done := copy(a, pattern); done < len(a); done *= 2 {
		copy(a[done:], a[:done])
	}
}
