package merge

import (
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// hasVectors says whether the processor has registers of eight keys.
var hasVectors = cpuid.CPU.Has(cpuid.AVX512F)

const (
	vectorKeys    = 8
	minVectorKeys = 8 * vectorKeys // of the shorter input, for mergeVectors to pay
)

// mergeVectors merges what it can of a and b into dst, from both ends, and gives what is left of all three: of a or of
// b a few keys only, or all of them where it cannot do anything.
//
// At either end it holds eight keys that have been taken and not yet written. A step takes eight more from the input
// whose next one comes first: then the first eight of these sixteen come before all others, because those held came
// before what their own input goes on with. (H. Inoue et al., AA-Sort, 2007; the network is Batcher's bitonic merge.)
func mergeVectors(dst, a, b []uint64) (restDst, restA, restB []uint64) {
	if !hasVectors || min(len(a), len(b)) < minVectorKeys {
		return dst, a, b
	}
	ends := vectorEnds{&a[0], &a[len(a)-1], &b[0], &b[len(b)-1], &dst[0], &dst[len(dst)-1]}
	mergeVectorSteps(&ends)
	i, j := indexOf(ends.aFrom, a), indexOf(ends.bFrom, b)
	p, q := indexOf(ends.aLast, a)+1, indexOf(ends.bLast, b)+1
	i, j = cutAt(a, b, i, i+j-vectorKeys)
	p, q = cutAt(a, b, p+vectorKeys, p+q+vectorKeys)
	return dst[i+j : p+q], a[i:p], b[j:q]
}

// vectorEnds is where mergeVectorSteps has come to: pointers to the first key that is left, and to the last one. The
// assembly knows the offsets.
type vectorEnds struct {
	aFrom, aLast, bFrom, bLast, dstFrom, dstLast *uint64
}

// indexOf is the index that a pointer into s stands for.
func indexOf(p *uint64, s []uint64) int {
	return int(uintptr(unsafe.Pointer(p))-uintptr(unsafe.Pointer(unsafe.SliceData(s)))) / 8
}

// cutAt cuts a and b where all of the first total keys come before all others, with most of a at most. Eight keys are
// taken at each end that have not been written: they are given back.
func cutAt(a, b []uint64, most, total int) (i, j int) {
	for i = min(most, total, len(a)); ; i-- {
		j = total - i
		if (j == len(b) || i == 0 || a[i-1] <= b[j]) && (i == len(a) || j == 0 || b[j-1] <= a[i]) {
			return i, j
		}
	}
}

// mergeVectorSteps merges from both ends, until one of the inputs has less than 16 keys that have not been taken.
// REQUIRES: hasVectors, and both inputs have 24 keys at least.
//
//go:noescape
func mergeVectorSteps(ends *vectorEnds)
