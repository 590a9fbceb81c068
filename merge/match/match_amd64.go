package match

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// hasVectors reports whether the processor has vector registers of four 64-bit keys.
var hasVectors = cpuid.CPU.Has(cpuid.AVX2)

// vectorKeys is the number of keys in a vector register.
const vectorKeys = 4

// markVectors sets the marks of keys, four by four, until fewer than four keys of one list are
// left. It returns the number of handled keys of each list. A step compares four keys of a with
// four keys of b: the latter in four rotations. (D. Lemire, L. Boytsov, N. Kurz, "SIMD compression
// and the intersection of sorted integers", 2016.) Then it continues with the next keys of a if its
// four end with a key that is at most the last one of the other four, and otherwise of b.
func markVectors(ofA, ofB []byte, a, b []uint64) (i, j int) {
	if !hasVectors || min(len(a), len(b)) < vectorKeys {
		return 0, 0
	}
	return markFours(&ofA[0], &ofB[0], &a[0], &b[0], len(a), len(b))
}

// markFours is markVectors for lists of at least four keys. REQUIRES: hasVectors
//
//go:noescape
func markFours(ofA, ofB *byte, a, b *uint64, lenA, lenB int) (i, j int)

// orderVectors compares keys with their predecessors, four at a time. It returns the index of the
// last one that it has compared.
func orderVectors(keys []uint64) (n int, descends, repeats bool) {
	n = (len(keys) - 1) &^ (vectorKeys - 1)
	if !hasVectors || n == 0 {
		return 0, false, false
	}
	less, equal := orderFours(unsafe.SliceData(keys), n)
	return n, less != 0, equal != 0
}

// orderFours compares n keys with their predecessors: those after the first one. n is a positive
// multiple of 4. REQUIRES: hasVectors
//
//go:noescape
func orderFours(keys *uint64, n int) (less, equal int)
