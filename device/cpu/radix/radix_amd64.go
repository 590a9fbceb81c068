package radix

import "github.com/klauspost/cpuid/v2"

// hasBEXTR reports whether the processor has BEXTR, the only instruction of the assembly that
// some amd64 processors lack.
var hasBEXTR = cpuid.CPU.Has(cpuid.BMI1)

// unprefetched is the number of elements at the end of a block that do not prefetch the line of a
// later element before they are stored: the last ones, which have no later element, or all if
// prefetching does not pay off. On Intel processors a store that misses the first-level cache
// delays later stores. On AMD processors prefetching takes longer.
var unprefetched = neverPrefetch

const (
	prefetchAhead = 16      // elements
	neverPrefetch = 1 << 40 // exceeds the size of a block
)

func init() {
	if cpuid.CPU.VendorID == cpuid.Intel {
		unprefetched = prefetchAhead
	}
}

// prefetchedOf returns how many elements of a block of n are moved with prefetching.
func prefetchedOf(n int) int {
	return max(n-unprefetched, 0) &^ 3
}

// moveBlock is moveLoop, in a third of its time where the processor has BEXTR.
func moveBlock[E Element](
	to, block []E,
	low E,
	shift, digit uint,
	places *[digits]uint64,
) {
	if !hasBEXTR {
		moveLoop(to, block, low, shift, digit, places)
		return
	}

	control := uint64(shift | digit<<8)
	switch block := any(block).(type) {
	case []uint64:
		move64(
			firstWord[uint64](to),
			block,
			uint64(low),
			control,
			places,
			prefetchedOf(len(block)),
		)
	case []uint32:
		move32(
			firstWord[uint32](to),
			block,
			uint32(low),
			control,
			places,
			prefetchedOf(len(block)),
		)
	}
}

// countTwo is countTwoLoop, in assembly where the processor has BEXTR.
func countTwo[E Element](
	block []E,
	low E,
	shift, digit uint,
	counts, next *[digits]uint64,
) {
	if !hasBEXTR {
		countTwoLoop(block, low, shift, digit, counts, next)
		return
	}

	control := uint64(shift | digit<<8)
	switch block := any(block).(type) {
	case []uint64:
		count64(
			block,
			uint64(low),
			control,
			control+uint64(digit),
			counts,
			next,
		)
	case []uint32:
		count32(
			block,
			uint32(low),
			control,
			control+uint64(digit),
			counts,
			next,
		)
	}
}

// The assembly requires hasBEXTR, and an ahead that prefetchedOf returned.

//go:noescape
func move64(
	to *uint64,
	block []uint64,
	low, control uint64,
	places *[digits]uint64,
	ahead int,
)

//go:noescape
func move32(
	to *uint32,
	block []uint32,
	low uint32,
	control uint64,
	places *[digits]uint64,
	ahead int,
)

//go:noescape
func count64(
	block []uint64,
	low, control, nextControl uint64,
	counts, next *[digits]uint64,
)

//go:noescape
func count32(
	block []uint32,
	low uint32,
	control, nextControl uint64,
	counts, next *[digits]uint64,
)

// PrefetchRecords prefetches the cache lines of the records of elems. REQUIRES: elems is not
// empty
//
//go:noescape
func PrefetchRecords(kept *byte, elems []uint64, indexMask uint64, size int)
