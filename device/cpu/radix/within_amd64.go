package radix

import "unsafe"

// Within is withinLoop, with vectors where the processor has them.
func Within[E Element](dst, a []E, low, span E) (kept int) {
	vector := 64 / int(unsafe.Sizeof(low))
	if !hasWindows || len(a) < vector {
		return withinLoop(dst, a, low, span)
	}
	whole := len(a) &^ (vector - 1)
	_ = dst[:whole] // they are stored as vectors
	switch any(low).(type) {
	case uint64:
		kept = within64(word[uint64](dst), word[uint64](a), whole, uint64(low), uint64(span))
	case uint32:
		kept = within32(word[uint32](dst), word[uint32](a), whole, uint32(low), uint32(span))
	}
	return kept + withinLoop(dst[kept:], a[whole:], low, span)
}

// within64 copies those of n elements at a that are from low to low+span to dst and returns their number. It stores
// as many as it loads. REQUIRES: hasWindows; n is a multiple of 8, and not 0.
//
//go:noescape
func within64(dst, a *uint64, n int, low, span uint64) (kept int)

// within32 is within64 for 32-bit elements: n is a multiple of 16.
//
//go:noescape
func within32(dst, a *uint32, n int, low, span uint32) (kept int)
