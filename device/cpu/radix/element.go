package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

// An Element is sorted in place of a record.
type Element interface{ uint32 | uint64 }

// lastBit returns the number of the highest bit of an element. The compiler omits the range check
// of a shift whose count is masked with it.
func lastBit[E Element]() uint {
	var e E
	return uint(unsafe.Sizeof(e))*8 - 1
}

// MinMax returns the range of a, which must not be empty. It uses four lanes, so that comparisons
// do not wait for each other.
func MinMax[E Element](a []E) (low, high E) {
	low = a[0]
	high = a[0]
	low1 := low
	high1 := high
	low2 := low
	high2 := high
	low3 := low
	high3 := high

	for ; len(a) >= 4; a = a[4:] {
		low = min(low, a[0])
		high = max(high, a[0])
		low1 = min(low1, a[1])
		high1 = max(high1, a[1])
		low2 = min(low2, a[2])
		high2 = max(high2, a[2])
		low3 = min(low3, a[3])
		high3 = max(high3, a[3])
	}

	for _, e := range a {
		low = min(low, e)
		high = max(high, e)
	}

	return min(low, low1, low2, low3), max(high, high1, high2, high3)
}

// keepWithinLoop moves the elements of a[start:] that are from low to low+span to a[kept:], and
// returns the new number of kept elements.
func keepWithinLoop[E Element](a []E, kept, start int, low, span E) int {
	for _, e := range a[start:] {
		a[kept] = e
		if e-low <= span {
			kept++
		}
	}
	return kept
}

// KeepWithinBoth is KeepWithin for keys. It moves the words in the same way.
func KeepWithinBoth[E Element, R arena.Word](
	keys []E,
	words []R,
	low, span E,
) int {
	kept := 0
	words = words[:len(keys)]
	for i, key := range keys {
		keys[kept] = key
		words[kept] = words[i]
		if key-low <= span {
			kept++
		}
	}
	return kept
}
