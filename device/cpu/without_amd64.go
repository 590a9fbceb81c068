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
	to, from := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(a))
	end := unsafe.Add(from, uintptr(whole)*unsafe.Sizeof(value))
	switch any(value).(type) {
	case uint64:
		kept = without64((*uint64)(to), (*uint64)(from), (*uint64)(end), uint64(value))
	case uint32:
		kept = without32((*uint32)(to), (*uint32)(from), (*uint32)(end), uint32(value))
	}
	return kept + withoutLoop(dst[kept:], a[whole:], value)
}

// without64 copies the elements from a up to end that are not value to dst and returns their number. It stores as many as
// it loads. REQUIRES: hasWindows; they are some vectors of 8.
//
//go:noescape
func without64(dst, a, end *uint64, value uint64) (kept int)

// without32 is without64 for 32-bit elements: vectors of 16.
//
//go:noescape
func without32(dst, a, end *uint32, value uint32) (kept int)
