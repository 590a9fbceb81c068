package radix

import "github.com/klauspost/cpuid/v2"

// hasBEXTR says whether the processor has the one instruction that the assembly needs beyond what every amd64 has.
var hasBEXTR = cpuid.CPU.Has(cpuid.BMI1)

// unasked is how many elements at the end of a block do not ask for the line of one further on before they are stored:
// the last ones, where there is none, or all where to ask does not pay. A store that misses the first-level cache holds
// up those behind it on Intel's; on AMD's to ask takes longer.
var unasked = allUnasked

const (
	askedAhead = 16      // elements
	allUnasked = 1 << 40 // more than a block has
)

func init() {
	if cpuid.CPU.VendorID == cpuid.Intel {
		unasked = askedAhead
	}
}

// aheadOf is the number of elements of a block of n that can be moved while one further on is asked for.
func aheadOf(n int) int { return max(n-unasked, 0) &^ 3 }

// moveBlock is moveLoop, in a third of its time where the processor has BEXTR.
func moveBlock[E Element](to, block []E, low E, shift, digit uint, places *[digits]uint64) {
	if !hasBEXTR {
		moveLoop(to, block, low, shift, digit, places)
		return
	}
	control := uint64(shift | digit<<8)
	switch block := any(block).(type) {
	case []uint64:
		move64(word[uint64](to), block, uint64(low), control, places, aheadOf(len(block)))
	case []uint32:
		move32(word[uint32](to), block, uint32(low), control, places, aheadOf(len(block)))
	}
}

// countTwo is countTwoLoop, in assembly where the processor has BEXTR.
func countTwo[E Element](block []E, low E, shift, digit uint, counts, next *[digits]uint64) {
	if !hasBEXTR {
		countTwoLoop(block, low, shift, digit, counts, next)
		return
	}
	control := uint64(shift | digit<<8)
	switch block := any(block).(type) {
	case []uint64:
		count64(block, uint64(low), control, control+uint64(digit), counts, next)
	case []uint32:
		count32(block, uint32(low), control, control+uint64(digit), counts, next)
	}
}

// The assembly requires hasBEXTR, and ahead that aheadOf gives.

//go:noescape
func move64(to *uint64, block []uint64, low, control uint64, places *[digits]uint64, ahead int)

//go:noescape
func move32(to *uint32, block []uint32, low uint32, control uint64, places *[digits]uint64, ahead int)

//go:noescape
func count64(block []uint64, low, control, nextControl uint64, counts, next *[digits]uint64)

//go:noescape
func count32(block []uint32, low uint32, control, nextControl uint64, counts, next *[digits]uint64)

// PrefetchRecords asks for the cache lines of the records of elems. REQUIRES: elems is not empty.
//
//go:noescape
func PrefetchRecords(kept *byte, elems []uint64, indexMask uint64, size int)
