package radix

import "unsafe"

// KeepWithin moves the elements of a that are from low to low+span to the start of a, in order, and
// returns their number. It uses vector instructions if available.
func KeepWithin[E Element](a []E, low, span E) (kept int) {
	vector := 64 / int(unsafe.Sizeof(low))
	if !hasVectors || len(a) < vector {
		return keepWithinLoop(a, 0, 0, low, span)
	}
	whole := len(a) &^ (vector - 1)
	switch any(low).(type) {
	case uint64:
		kept = within64(firstWord[uint64](a), whole, uint64(low), uint64(span))
	case uint32:
		kept = within32(firstWord[uint32](a), whole, uint32(low), uint32(span))
	}

	return keepWithinLoop(a, kept, whole, low, span)
}

// within64 is KeepWithin for n elements at a, where n is a positive multiple of 8. REQUIRES:
// hasVectors
//
//go:noescape
func within64(a *uint64, n int, low, span uint64) (kept int)

// within32 is within64 for 32-bit elements, where n is a multiple of 16.
//
//go:noescape
func within32(a *uint32, n int, low, span uint32) (kept int)
