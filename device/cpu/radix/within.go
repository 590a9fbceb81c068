package radix

import (
	"github.com/extsort/extsort/device/arena"
)

// withinLoop copies the elements of a that are from low to low+span to dst, which may be a, and returns their
// number. REQUIRES: dst is as long as a.
func withinLoop[E Element](dst, a []E, low, span E) int {
	kept := 0
	for _, e := range a {
		dst[kept] = e
		if e-low <= span {
			kept++
		}
	}
	return kept
}

// WithinBoth is within of keys, which takes words along.
func WithinBoth[E Element, R arena.Word](keys []E, words []R, low, span E) int {
	kept := 0
	words = words[:len(keys)]
	for i, key := range keys {
		keys[kept], words[kept] = key, words[i]
		if key-low <= span {
			kept++
		}
	}
	return kept
}

// Without copies the elements of a that are not value to dst, which may be a, and returns their number: they are
// from value+1 to value-1, by way of 0. REQUIRES: dst is as long as a.
func Without[E Element](dst, a []E, value E) int { return Within(dst, a, value+1, ^E(0)-1) }
