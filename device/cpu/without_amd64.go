package cpu

import "unsafe"

// without is withoutLoop, with vectors where the processor has them: 16 elements took 7 ns in place of 9.5.
func without[E element](dst, a []E, value E) (kept int) {
	vector := 64 / int(unsafe.Sizeof(value))
	if !hasWindows || len(a) < vector {
		return withoutLoop(dst, a, value)
	}
	whole := len(a) &^ (vector - 1)
	_ = dst[:whole] // they are stored as vectors
	switch any(value).(type) {
	case uint64:
		kept = without64(word[uint64](dst), word[uint64](a), whole, uint64(value))
	case uint32:
		kept = without32(word[uint32](dst), word[uint32](a), whole, uint32(value))
	}
	return kept + withoutLoop(dst[kept:], a[whole:], value)
}

// without64 copies those of n elements at a that are not value to dst and returns their number. It stores as many as it
// loads. REQUIRES: hasWindows; n is a multiple of 8, and not 0.
//
//go:noescape
func without64(dst, a *uint64, n int, value uint64) (kept int)

// without32 is without64 for 32-bit elements: n is a multiple of 16.
//
//go:noescape
func without32(dst, a *uint32, n int, value uint32) (kept int)
