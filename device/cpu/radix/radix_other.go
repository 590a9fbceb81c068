//go:build !amd64

package radix

import "github.com/extsort/extsort/device/arena"

func moveBlock[E Element](
	to, block []E, low E, shift, digit uint, places *[digits]uint64,
) {
	moveLoop(to, block, low, shift, digit, places)
}

func countTwo[E Element](
	block []E, low E, shift, digit uint, counts, next *[digits]uint64,
) {
	countTwoLoop(block, low, shift, digit, counts, next)
}

func Within[E Element](a []E, low, span E) int {
	return withinLoop(a, 0, 0, low, span)
}

func put[E arena.Word](
	c *combiner[E], elems []E, numbers []uint32, majority []E,
) (done, full int) {
	return putLoop(c, elems, numbers, majority)
}

func PrefetchRecords(*byte, []uint64, uint64, int) {}

func StoreFence() {}

func numberVectors[E Element](*Buckets[E], []uint32, []E) (done int) {
	return 0
}

// sortCells returns false: this processor cannot sort in registers. See cells_amd64.go.
func (r *Sorter[E]) sortCells(
	[]E, []E, [][]E, span[E],
) bool {
	return false
}
