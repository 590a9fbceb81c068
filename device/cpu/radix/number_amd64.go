package radix

import "github.com/klauspost/cpuid/v2"

// What the processor can number the buckets of elements with, the best one first: vectors of 512 and of 256 bits,
// and shifts by a register.
var (
	hasWideNumbers   = cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512CD)
	hasNarrowNumbers = cpuid.CPU.Has(cpuid.AVX2)
	hasShifts        = cpuid.CPU.Supports(cpuid.BMI2, cpuid.LZCNT)
)

// numberFast does what numberLoop does with the first of elems: done of them.
func numberFast[E Element](b *Buckets[E], numbers []uint32, elems []E) (done int) {
	switch b := any(b).(type) {
	case *Buckets[uint32]:
		return numbers32[kindOf(b)].do(b, numbers, word[uint32](elems), len(elems))
	case *Buckets[uint64]:
		return numbers64[kindOf(b)].do(b, numbers, word[uint64](elems), len(elems))
	}
	panic("unreachable")
}

// The kinds of buckets.
const (
	plain       = iota
	evenCells   // fitted, with cells of equal widths
	gradedCells // fitted, with cells that grow
	kinds
)

func kindOf[E Element](b *Buckets[E]) int {
	switch {
	case b.graded():
		return gradedCells
	case b.fitted():
		return evenCells
	}
	return plain
}

// numbering is a way to number the buckets of a multiple of step elements, but not of none. The zero numbering does
// nothing.
type numbering[E Element] struct {
	step   int
	number func(numbers *uint32, elems *E, n int, b *Buckets[E])
}

func (n numbering[E]) do(b *Buckets[E], numbers []uint32, elems *E, count int) (done int) {
	if n.step == 0 || count < n.step {
		return 0
	}
	done = count / n.step * n.step
	n.number(&numbers[:done][0], elems, done, b)
	return done
}

var (
	numbers32 = numberings32(hasWideNumbers, hasNarrowNumbers, hasShifts)
	numbers64 = numberings64(hasWideNumbers, hasNarrowNumbers, hasShifts)
)

// numberings32 are the best ways to number buckets of each kind that a processor has with what is given.
func numberings32(wide, narrow, shifts bool) (n [kinds]numbering[uint32]) {
	if shifts {
		n = [kinds]numbering[uint32]{{1, shift32}, {1, shiftFitted32}, {1, shiftGraded32}}
	}
	if narrow {
		n[plain] = numbering[uint32]{8, narrow32}
	}
	if wide {
		n[evenCells], n[gradedCells] = numbering[uint32]{8, wideFitted32}, numbering[uint32]{8, wideGraded32}
	}
	return n
}

// numberings64 is numberings32 for elements of 64 bits.
func numberings64(wide, narrow, shifts bool) (n [kinds]numbering[uint64]) {
	if shifts {
		n = [kinds]numbering[uint64]{{1, shift64}, {1, shiftFitted64}, {1, shiftGraded64}}
	}
	if narrow {
		n[plain] = numbering[uint64]{8, narrow64}
	}
	if wide {
		n = [kinds]numbering[uint64]{{8, wide64}, {8, wideFitted64}, {8, wideGraded64}}
	}
	return n
}

// The assembly does what numberLoop does for buckets of one kind: wide… requires hasWideNumbers and n to be a
// multiple of 8, not 0; narrow… hasNarrowNumbers and the same; and shift… hasShifts and n not to be 0.

//go:noescape
func wideFitted32(numbers, elems *uint32, n int, b *Buckets[uint32])

//go:noescape
func wideGraded32(numbers, elems *uint32, n int, b *Buckets[uint32])

//go:noescape
func wide64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])

//go:noescape
func wideFitted64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])

//go:noescape
func wideGraded64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])

//go:noescape
func narrow32(numbers, elems *uint32, n int, b *Buckets[uint32])

//go:noescape
func narrow64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])

//go:noescape
func shift32(numbers, elems *uint32, n int, b *Buckets[uint32])

//go:noescape
func shiftFitted32(numbers, elems *uint32, n int, b *Buckets[uint32])

//go:noescape
func shiftGraded32(numbers, elems *uint32, n int, b *Buckets[uint32])

//go:noescape
func shift64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])

//go:noescape
func shiftFitted64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])

//go:noescape
func shiftGraded64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])
