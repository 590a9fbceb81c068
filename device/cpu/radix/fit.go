package radix

import (
	"math/bits"
	"slices"
)

// Keys of real data are seldom spread evenly over their range: half of the 64-bit floats between
// 0 and 1 are in a thousandth of the bit patterns between them. With buckets of equal width, most
// elements would be in buckets that are too large, and these would have to be split in an
// additional pass over memory. If a sample shows this, the range is divided into cells. Each cell
// is divided into buckets of its own width, or several cells share a bucket.
//
// Cells of equal width are suitable for floats: one cell is about a binade, in which most
// distributions are nearly even. Integers that are mostly small, such as counts and differences,
// need graded cells, whose width grows with the distance from the densest range, as it does for
// floats.

// maxCells is the maximum number of cells. Their table must stay in L1 together with the heads of
// the buckets.
const maxCells = 2048

// A cell maps elements to buckets: element x above the low end of the range, or at distance x in
// graded cells, belongs to bucket base + x>>shift, modulo 2^32. The lower half is the shift and
// the upper half is base. number_amd64.s depends on this.
type cell uint64

func newCell(base uint32, shift uint) cell {
	return cell(base)<<32 | cell(shift)
}

func (c cell) bucket(x uint64) uint32 {
	return uint32(c>>32) + uint32(x>>(c&63))
}

// A grading describes how the widths of cells grow. Element x above the low end of the range has
// the distance x - center. If it is less than center, it is below, and its distance is center - 1
// - x. The zero grading means cells of equal widths.
type grading struct {
	// bits is the number of bits after the leading one that determine the cell of a distance.
	// Each power of two has 2^bits cells.
	bits   uint64
	center uint64
	lower  uint64 // number of the first cell below the center
	below  uint64 // number of buckets below the center, which are numbered downwards
}

// gradingAround returns the finest grading around a center with at most maxCells cells up to
// last. Distances are in units of 2^shift, and center is a multiple of it.
func gradingAround(center, last uint64, shift uint) grading {
	g := grading{bits: 1, center: center}
	cells := func(g grading) uint64 {
		n := g.cellOf((last-center)>>shift) + 1
		if center > 0 {
			n += g.cellOf((center-1)>>shift) + 1
		}
		return n
	}
	for finer := g; 1<<finer.bits < maxCells &&
		cells(finer) <= maxCells; finer.bits++ {
		g = finer
	}
	return g
}

// cellOf returns the number of the cell of a distance.
func (g grading) cellOf(distance uint64) uint64 {
	if g.bits == 0 {
		return distance
	}
	shift := uint64(max(bits.Len64(distance)-1-int(g.bits), 0))
	return distance>>shift + shift<<g.bits
}

// cell returns the least distance of a cell, and the binary logarithm of its width.
func (g grading) cell(number uint64) (start uint64, width uint) {
	if g.bits == 0 || number>>g.bits == 0 {
		return number, 0
	}
	width = uint(number>>g.bits) - 1
	return (number - uint64(width)<<g.bits) << width, width
}

// FittedBuckets divides the elements from low to high into at most count buckets with about the
// same number of sampled elements each. REQUIRES: the sampled elements are from low to high
func FittedBuckets[E Element](
	sample []E, low, high E, count int, tieBits uint,
) Buckets[E] {
	plain := NewBuckets(low, high, count, tieBits)
	if count < minFitted || plain.Shift == tieBits {
		return plain
	}
	overfull := plain.overfull(sample, count)
	if overfull <= len(sample)/16 {
		return plain
	}
	best := plain
	least := overfull/2 + 1
	even := plain.fit(sample, high, count, tieBits, grading{})

	if overfull := even.overfull(sample, count); overfull < least {
		best = even
		least = overfull/2 + 1 // graded cells are slower
	}

	if least > len(sample)/16 {
		center := (densest(sample) - plain.low) >> tieBits << tieBits
		graded := plain.fit(
			sample, high, count, tieBits,
			gradingAround(uint64(center), uint64(high-plain.low), tieBits),
		)
		if graded.overfull(sample, count) < least {
			best = graded
		}
	}

	return best
}

// densest returns the middle of the narrowest range that contains a sixteenth of the sample.
func densest[E Element](sample []E) E {
	sorted := slices.Sorted(slices.Values(sample))
	share := len(sorted) / 16
	at := 0
	for i := range sorted[share:] {
		if sorted[i+share]-sorted[i] < sorted[at+share]-sorted[at] {
			at = i
		}
	}
	return sorted[at+share/2]
}

// fit returns fitted buckets instead of plain ones, up to high and at most count.
func (b Buckets[E]) fit(
	sample []E, high E, count int, tieBits uint, g grading,
) Buckets[E] {
	b.grading = g
	b.last = high - b.low
	b.Shift = tieBits
	if !b.graded() {
		b.Shift = max(
			tieBits,
			uint(max(bits.Len64(uint64(b.last))-bits.Len(maxCells-1), 0)),
		)
	}
	above, below := b.histograms(sample)
	// A bucket has want/2 to want elements, or two neighbors have more than want together. So
	// there are about as many buckets as requested.
	for want := 2*len(sample)/count + 1; ; want += want/4 + 1 {
		if b.cut(above, below, want, tieBits); b.Count() <= count {
			return b
		}
	}
}

// histograms counts the sampled elements in each cell, above and below the center.
func (b *Buckets[E]) histograms(sample []E) (above, below []int) {
	above = make([]int, b.cellOf(uint64((b.last-E(b.center))>>b.Shift))+1)
	if b.center > 0 {
		below = make([]int, b.cellOf((b.center-1)>>b.Shift)+1)
	}
	for _, e := range sample {
		distance, isBelow := b.distance(e)
		if isBelow {
			below[b.cellOf(distance>>b.Shift)]++
		} else {
			above[b.cellOf(distance>>b.Shift)]++
		}
	}

	return above, below
}

// cut divides each cell into buckets with at most about want elements of the histogram. Cells
// with few elements share a bucket.
func (b *Buckets[E]) cut(above, below []int, want int, tieBits uint) {
	b.cells = b.cells[:0]
	b.first = b.first[:0]
	b.below = 0

	if len(below) > 0 {
		down := b.cutSide(below, E(b.center)-1, want, tieBits)
		b.first = append(b.first, 0)
		for i := len(down) - 1; i > 0; i-- {
			b.first = append(b.first, E(b.center)-down[i])
		}
		b.below = uint64(len(down))
	}

	b.lower = uint64(len(above))
	lower := slices.Clone(b.cells)
	b.cells = b.cells[:0]

	for _, distance := range b.cutSide(above, b.last-E(b.center), want, tieBits) {
		b.first = append(b.first, E(b.center)+distance)
	}
	b.cells = append(b.cells, lower...)
}

// cutSide divides one side of the center into buckets. histogram contains the number of sampled
// elements in each cell of this side, and last is the largest distance from the center. Cells with
// few elements share a bucket; a cell with many elements is divided into buckets of equal width:
//
//	cells     │  3  │  2  │  4  │        20         │  5  │     elements; want = 6
//	buckets   │     0     │  1  │ 2  │ 3  │ 4  │ 5  │  6  │
//
// For each cell, cutSide appends the numbering of its buckets to b.cells. It returns the smallest
// distance in each bucket.
func (b *Buckets[E]) cutSide(
	histogram []int, last E, want int, tieBits uint,
) (first []E) {
	shared := 0 // number of elements in the last bucket
	mayJoin := false
	for i, n := range histogram {
		value, width := b.cell(uint64(i))
		start := E(value) << b.Shift
		width += b.Shift // the cell consists of 2^width distances

		if n > want {
			pieceBits := min(uint(bits.Len(uint((n-1)/want))), width-tieBits)
			first = b.divideCell(first, start, width, width-pieceBits, last)
			mayJoin = false
			continue
		}

		if !mayJoin || shared+n > want {
			first = append(first, start)
			shared = 0
		}
		shared += n
		mayJoin = true
		b.addCell(uint32(len(first)-1), start, lastBit[E]())
	}

	return first
}

// divideCell divides a cell of 2^width distances into buckets of 2^shift distances each. It
// appends the smallest distance of each bucket to first, without buckets that begin after last.
func (b *Buckets[E]) divideCell(
	first []E, start E, width, shift uint, last E,
) []E {
	b.addCell(uint32(len(first)), start, shift)
	bucketWidth := E(1) << shift
	for at := start; ; at += bucketWidth {
		first = append(first, at)
		isLastOfCell := (at-start+bucketWidth)>>width != 0
		if isLastOfCell || last-at < bucketWidth {
			return first
		}
	}
}

// addCell adds the cell that begins at start. bucket is its first bucket.
func (b *Buckets[E]) addCell(bucket uint32, start E, shift uint) {
	b.cells = append(b.cells, newCell(bucket-uint32(start>>shift), shift))
}

// minFitted is the minimum number of buckets for which fitting pays off.
const minFitted = 32

// overfull returns how many sampled elements are in buckets with several times their share. It
// ignores the majority key of a bucket, because elements equal to it cannot be separated.
func (b Buckets[E]) overfull(sample []E, count int) int {
	overfull := 0
	share := len(sample)/count + 1
	for _, c := range candidatesOf(sample, b) {
		others := c.total
		if c.prevails() {
			others -= c.count
		}
		if others > 3*share {
			overfull += others
		}
	}

	return overfull
}
