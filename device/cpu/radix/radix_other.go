//go:build !amd64

package radix

import "github.com/extsort/extsort/device/arena"

func moveBlock[E Element](
	to, block []E,
	low E,
	shift, digit uint,
	places *[digits]uint64,
) {
	moveLoop(to, block, low, shift, digit, places)
}

func countTwo[E Element](
	block []E,
	low E,
	shift, digit uint,
	counts, next *[digits]uint64,
) {
	countTwoLoop(block, low, shift, digit, counts, next)
}

// KeepWithin moves the elements of a that are from low to low+span to the start of a, in order, and
// returns their number.
func KeepWithin[E Element](a []E, low, span E) int {
	return keepWithinLoop(a, 0, 0, low, span)
}

func putElements[E arena.Word](
	c *combiner[E],
	elems []E,
	numbers []uint32,
	majority []E,
) (done, full int) {
	return putLoop(c, elems, numbers, majority)
}

// PrefetchRecords does nothing on this processor.
func PrefetchRecords(*byte, []uint64, uint64, int) {}

// StoreFence does nothing: on this processor no store bypasses the caches.
func StoreFence() {}

func numberVectors[E Element](*Buckets[E], []uint32, []E) (done int) {
	return 0
}

// tryCells returns false: this processor cannot sort in registers. See cells_amd64.go.
func (r *Sorter[E]) tryCells(
	[]E,
	[]E,
	[][]E,
	span[E],
) bool {
	return false
}
