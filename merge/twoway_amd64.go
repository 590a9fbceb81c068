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
	i, j = giveBackFirst(a, b, i, j)
	p, q = giveBackLast(a, b, p, q)
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

// giveBackFirst finds whose the eight keys are that were taken last from a[:i] and b[:j], and not written. Then all
// keys that were written come before all that are left.
func giveBackFirst(a, b []uint64, i, j int) (int, int) {
	for k := max(0, vectorKeys-j); ; k++ {
		i, j := i-k, j-vectorKeys+k
		if (j == len(b) || i == 0 || a[i-1] <= b[j]) && (i == len(a) || j == 0 || b[j-1] <= a[i]) {
			return i, j
		}
	}
}

// giveBackLast is giveBackFirst for a[p:] and b[q:].
func giveBackLast(a, b []uint64, p, q int) (int, int) {
	for k := max(0, vectorKeys-(len(b)-q)); ; k++ {
		p, q := p+k, q+vectorKeys-k
		if (q == len(b) || p == 0 || a[p-1] <= b[q]) && (p == len(a) || q == 0 || b[q-1] <= a[p]) {
			return p, q
		}
	}
}

// mergeVectorSteps merges from both ends, until one of the inputs has less than 16 keys that have not been taken.
// REQUIRES: hasVectors, and both inputs have 24 keys at least.
//
//go:noescape
func mergeVectorSteps(ends *vectorEnds)
