package radix

import (
	"github.com/extsort/extsort/device/arena"
)

// withinLoop moves the elements of a from start on that are from low to low+span to where kept others end, and returns
// how many are kept then.
func withinLoop[E Element](a []E, kept, start int, low, span E) int {
	for _, e := range a[start:] {
		a[kept] = e
		if e-low <= span {
			kept++
		}
	}
	return kept
}

// WithinBoth is Within of keys, which takes words along.
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
