package merge

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// hasVectors reports whether the processor has vector registers of eight 64-bit keys.
var hasVectors = cpuid.CPU.Has(cpuid.AVX512F)

const (
	vectorKeys = 8
	// least length of the shorter input for which mergeVectors pays off
	minVectorKeys = 8 * vectorKeys
)

// mergeVectors merges as much of a and b into dst as it can, from both ends, and returns the rest
// of all three slices. Only a few keys of one input are left, or everything if the inputs are
// short or the processor lacks vector registers.
//
// At each end it holds eight keys that it has taken but not written. A step takes eight more keys
// from the input whose next key comes first. Of these sixteen keys, the first eight in order come
// before all others, because the eight held keys come before the rest of their own input. (H.
// Inoue et al., "AA-Sort", 2007; the network is Batcher's bitonic merge.)
func mergeVectors(dst, a, b []uint64) (restDst, restA, restB []uint64) {
	if !hasVectors || min(len(a), len(b)) < minVectorKeys {
		return dst, a, b
	}
	ends := vectorEnds{&a[0], &a[len(a)-1], &b[0], &b[len(b)-1], &dst[0], &dst[len(dst)-1]}
	mergeVectorSteps(&ends)
	i := indexOf(ends.aFrom, a)
	j := indexOf(ends.bFrom, b)
	p := indexOf(ends.aLast, a) + 1
	q := indexOf(ends.bLast, b) + 1
	i, j = cutAt(a, b, i, i+j-vectorKeys)
	p, q = cutAt(a, b, p+vectorKeys, p+q+vectorKeys)
	return dst[i+j : p+q], a[i:p], b[j:q]
}

// vectorEnds holds the positions of mergeVectorSteps: pointers to the first and the last
// remaining key of each slice. The assembly depends on the order of the fields.
type vectorEnds struct {
	aFrom, aLast, bFrom, bLast, dstFrom, dstLast *uint64
}

// indexOf returns the index in s of the element that p points to.
func indexOf(p *uint64, s []uint64) int {
	return int(
		uintptr(unsafe.Pointer(p))-uintptr(unsafe.Pointer(unsafe.SliceData(s))),
	) / 8
}

// cutAt cuts a and b so that their first total keys come before all others, with at most the
// given number of keys of a. It gives back the eight keys at each end that mergeVectorSteps has
// taken but not written.
func cutAt(a, b []uint64, most, total int) (i, j int) {
	for i = min(most, total, len(a)); ; i-- {
		j = total - i
		if (j == len(b) || i == 0 || a[i-1] <= b[j]) &&
			(i == len(a) || j == 0 || b[j-1] <= a[i]) {
			return i, j
		}
	}
}

// mergeVectorSteps merges from both ends until one of the inputs has fewer than 16 keys left.
// REQUIRES: hasVectors, and both inputs have at least 24 keys
//
//go:noescape
func mergeVectorSteps(ends *vectorEnds)
