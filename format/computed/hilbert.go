package computed

import (
	"slices"
	"sync"
)

// maxDimensions is the maximum number of dimensions of a curve.
const maxDimensions = 4

// The Hilbert curve is that of John Skilling, "Programming the Hilbert curve", AIP Conference
// Proceedings 707, 381 (2004). Skilling's algorithm goes through the bits of the coordinates, the
// most significant first. At each level it exchanges or inverts the less significant bits of some
// coordinates, depending on the bits of this level, and at the end it converts from a Gray code.
//
// So everything that a level passes on to the next ones is an orientation: which coordinate takes
// the place of each other one, which ones are inverted, and a parity. There are few orientations.
// hilbertTable therefore contains the digits and the next orientation for each combination of an
// orientation and the bits of one or more levels.

// An orientation is the state of Skilling's algorithm between two levels.
type orientation struct {
	axis   [maxDimensions]uint8 // dimension i has the bits of coordinate axis[i] …
	invert [maxDimensions]bool  // … inverted, if invert[i]
	isOdd  bool                 // all digits of the next level are inverted
}

// next returns the digit for the bits of one level, of which bit n-1-i belongs to coordinate i, and
// the orientation for the next level.
func (o orientation) next(n int, bits uint32) (digit uint32, after orientation) {
	after = o
	gray := false
	for i := range n {
		bit := bits>>(n-1-int(o.axis[i]))&1 == 1
		bit = bit != o.invert[i]
		gray = gray != bit
		digit <<= 1
		if gray != o.isOdd {
			digit |= 1
		}
		if bit {
			after.invert[0] = !after.invert[0]
			continue
		}
		after.axis[0], after.axis[i] = after.axis[i], after.axis[0]
		after.invert[0], after.invert[i] = after.invert[i], after.invert[0]
	}
	after.isOdd = o.isOdd != gray
	return digit, after
}

// A hilbertTable is the curve of n dimensions as a finite automaton that reads several levels at
// once.
type hilbertTable struct {
	levels int // levels that one step reads
	// entries contains, at index orientation<<(n·levels) | bits, the digits in the lowest n·levels
	// bits, and above them the next orientation. The bits of the first coordinate are the most
	// significant.
	entries []uint32
}

// hilbertLevels is the number of levels of one step for each number of dimensions. It divides 16.
var hilbertLevels = [maxDimensions + 1]int{2: 4, 3: 2, 4: 1}

// hilbertTables returns the table for each number of dimensions. A table is built when it is used
// for the first time.
var hilbertTables = [maxDimensions + 1]func() *hilbertTable{
	2: sync.OnceValue(func() *hilbertTable { return newHilbertTable(2, hilbertLevels[2]) }),
	3: sync.OnceValue(func() *hilbertTable { return newHilbertTable(3, hilbertLevels[3]) }),
	4: sync.OnceValue(func() *hilbertTable { return newHilbertTable(4, hilbertLevels[4]) }),
}

// newHilbertTable builds the table of n dimensions. It finds the orientations that can occur.
func newHilbertTable(n, levels int) *hilbertTable {
	first := orientation{}
	for i := range first.axis {
		first.axis[i] = uint8(i)
	}
	all := []orientation{first}
	t := &hilbertTable{levels: levels}
	width := n * levels
	for i := 0; i < len(all); i++ {
		for bits := range uint32(1) << width {
			digits, after := steps(all[i], n, levels, bits)
			at := slices.Index(all, after)
			if at < 0 {
				at = len(all)
				all = append(all, after)
			}
			t.entries = append(t.entries, uint32(at)<<width|digits)
		}
	}
	return t
}

// steps returns the digits for the bits of several levels, and the orientation after them. The bits
// of a coordinate are adjacent.
func steps(o orientation, n, levels int, bits uint32) (digits uint32, after orientation) {
	for level := levels - 1; level >= 0; level-- {
		one := uint32(0)
		for i := range n {
			one = one<<1 | bits>>((n-1-i)*levels+level)&1
		}
		var digit uint32
		digit, o = o.next(n, one)
		digits = digits<<n | digit
	}
	return digits, o
}

// hilbertKeys computes the positions of points on the Hilbert curve.
func hilbertKeys(c *call, b *block) {
	c.setCells(b)
	width := c.key.bits
	switch t := hilbertTables[len(c.axes)](); len(c.axes) {
	case 2:
		t.plane(b, width)
	default:
		t.space(b, len(c.axes), width)
	}
	b.setNaNs()
}

// plane computes the positions of points with two coordinates of some bits.
func (t *hilbertTable) plane(b *block, width int) {
	const levels = 4 // hilbertLevels[2]
	const bits = 2 * levels
	entries := t.entries
	for i := range b.n {
		x := b.cells[0][i]
		y := b.cells[1][i]
		state := uint32(0)
		position := uint64(0)
		for shift := width - levels; shift >= 0; shift -= levels {
			here := x>>(shift&31)&(1<<levels-1)<<levels | y>>(shift&31)&(1<<levels-1)
			entry := entries[state|here]
			position = position<<bits | uint64(entry&(1<<bits-1))
			state = entry &^ (1<<bits - 1)
		}
		b.low[i] = position
	}
}

// space computes the positions of points with n coordinates of some bits.
func (t *hilbertTable) space(b *block, n, width int) {
	bits := n * t.levels
	mask := uint32(1)<<bits - 1
	ofOne := uint32(1)<<t.levels - 1
	for i := range b.n {
		state := uint32(0)
		var high, low uint64
		for shift := width - t.levels; shift >= 0; shift -= t.levels {
			here := uint32(0)
			for d := range n {
				here = here<<t.levels | b.cells[d][i]>>shift&ofOne
			}
			entry := t.entries[state|here]
			high = high<<bits | low>>(64-bits)
			low = low<<bits | uint64(entry&mask)
			state = entry &^ mask
		}
		b.low[i] = low
		b.high[i] = high
	}
}

// setCells sets the cells of all points of a block.
func (c *call) setCells(b *block) {
	clear(b.isNaN[:b.n])
	for d, a := range c.axes {
		a.cellsOf(&b.cells[d], b)
	}
}

// setNaNs gives the greatest key to points that have a NaN.
func (b *block) setNaNs() {
	for i, isNaN := range b.isNaN[:b.n] {
		if isNaN {
			b.low[i] = ^uint64(0)
			b.high[i] = ^uint64(0)
		}
	}
}
