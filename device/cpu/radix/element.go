package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

// Element is what is sorted in place of a record.
type Element interface{ uint32 | uint64 }

// lastBit is the number of the highest bit of an element. A shift by a number that is masked with it needs no check.
func lastBit[E Element]() uint {
	var e E
	return uint(unsafe.Sizeof(e))*8 - 1
}

// MinMax is the range of a, which is not empty. Four lanes keep it from waiting for one comparison after the other.
func MinMax[E Element](a []E) (low, high E) {
	low, high = a[0], a[0]
	low1, high1, low2, high2, low3, high3 := low, high, low, high, low, high
	for ; len(a) >= 4; a = a[4:] {
		low, high = min(low, a[0]), max(high, a[0])
		low1, high1 = min(low1, a[1]), max(high1, a[1])
		low2, high2 = min(low2, a[2]), max(high2, a[2])
		low3, high3 = min(low3, a[3]), max(high3, a[3])
	}
	for _, e := range a {
		low, high = min(low, e), max(high, e)
	}
	return min(low, low1, low2, low3), max(high, high1, high2, high3)
}

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
