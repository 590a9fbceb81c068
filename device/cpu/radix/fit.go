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
// floats; see grading.

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

func (c cell) bucketOf(x uint64) uint32 {
	return uint32(c>>32) + uint32(x>>(c&63))
}

// A grading says how the widths of cells grow with the distance from a center. Such cells are
// called graded. A distance is treated like a float: its exponent is the position of its leading
// bit, and its mantissa consists of the next bits. Distances with equal exponents and mantissas
// share a cell. With one bit of mantissa:
//
//	distance  │0│1│2│3│4 5│6 7│8   11│12  15│16      23│24      31│
//	cell      │0│1│2│3│ 4 │ 5 │  6   │  7   │    8     │    9     │
//
// Cells and buckets are numbered outwards from the center, on each side separately. Below the
// center, the element center - 1 has the distance 0.
//
// The zero grading means cells of equal width, with the center at the low end of the range.
type grading struct {
	// mantissaBits is the length of a mantissa, or 0 for cells of equal width. Each power of two
	// has 2^mantissaBits cells.
	mantissaBits uint64

	center         uint64 // minus the low end of the range
	firstLowerCell uint64 // index of the first cell below the center, after all cells above it
	bucketsBelow   uint64 // number of buckets below the center
}

// gradingAround returns the finest grading around a center with at most maxCells cells up to
// last. Distances are in units of 2^shift, and center is a multiple of it.
func gradingAround(center, last uint64, shift uint) grading {
	cells := func(g grading) uint64 {
		n := g.cellOf((last-center)>>shift) + 1
		if center > 0 {
			n += g.cellOf((center-1)>>shift) + 1
		}
		return n
	}

	g := grading{mantissaBits: 1, center: center}
	for {
		finer := g
		finer.mantissaBits++
		if 1<<finer.mantissaBits >= maxCells || cells(finer) > maxCells {
			return g
		}
		g = finer
	}
}

// cellOf returns the cell of a distance.
func (g grading) cellOf(distance uint64) uint64 {
	if g.mantissaBits == 0 {
		return distance
	}
	exponent := bits.Len64(distance) - 1
	shift := uint64(max(exponent-int(g.mantissaBits), 0))
	return distance>>shift + shift<<g.mantissaBits
}

// cellBounds returns the least distance in a cell, and the binary logarithm of the width of the
// cell.
func (g grading) cellBounds(cell uint64) (start uint64, width uint) {
	if g.mantissaBits == 0 || cell>>g.mantissaBits == 0 {
		return cell, 0
	}
	width = uint(cell>>g.mantissaBits) - 1
	return (cell - uint64(width)<<g.mantissaBits) << width, width
}

// FittedBuckets divides the elements from low to high into at most count buckets with about the
// same number of sampled elements each. REQUIRES: the sampled elements are from low to high
func FittedBuckets[E Element](
	sample []E,
	low, high E,
	count int,
	tieBits uint,
) Buckets[E] {
	plain := NewBuckets(low, high, count, tieBits)
	if count < minFitted || plain.Shift == tieBits {
		return plain
	}

	tolerated := len(sample) / 16
	overfull := plain.overfullElements(sample, count)
	if overfull <= tolerated {
		return plain
	}

	// Slower buckets must at least halve the number of elements in overfull ones.
	best := plain
	limit := overfull/2 + 1
	even := plain.fitTo(sample, high, count, tieBits, grading{})
	if overfull := even.overfullElements(sample, count); overfull < limit {
		best = even
		limit = overfull/2 + 1 // graded cells are even slower
	}
	if limit <= tolerated {
		return best
	}

	center := (densestElement(sample) - plain.low) >> tieBits << tieBits
	g := gradingAround(uint64(center), uint64(high-plain.low), tieBits)
	graded := plain.fitTo(sample, high, count, tieBits, g)
	if graded.overfullElements(sample, count) < limit {
		return graded
	}
	return best
}

// densestElement returns the middle of the narrowest range that contains a sixteenth of the sample.
func densestElement[E Element](sample []E) E {
	sorted := slices.Sorted(slices.Values(sample))
	share := len(sorted) / 16
	densest := 0 // start of the narrowest range
	for i := range sorted[share:] {
		if sorted[i+share]-sorted[i] < sorted[densest+share]-sorted[densest] {
			densest = i
		}
	}
	return sorted[densest+share/2]
}

// fitTo returns fitted buckets instead of plain ones, up to high and at most count.
func (b Buckets[E]) fitTo(
	sample []E,
	high E,
	count int,
	tieBits uint,
	g grading,
) Buckets[E] {
	b.grading = g
	b.last = high - b.low
	b.Shift = tieBits
	if !b.isGraded() {
		rangeBits := bits.Len64(uint64(b.last))
		excessBits := max(rangeBits-bits.Len(maxCells-1), 0)
		b.Shift = max(tieBits, uint(excessBits))
	}

	// A bucket has want/2 to want elements, or two neighbors have more than want together. So
	// there are about as many buckets as requested.
	above, below := b.countSample(sample)
	for want := 2*len(sample)/count + 1; ; want += want/4 + 1 {
		b.cutCells(above, below, want, tieBits)
		if b.Count() <= count {
			return b
		}
	}
}

// countSample counts the sampled elements in each cell, above and below the center.
func (b *Buckets[E]) countSample(sample []E) (above, below []int) {
	greatest := uint64(b.last) - b.center // distance above the center
	above = make([]int, b.cellOf(greatest>>b.Shift)+1)
	if b.center > 0 {
		below = make([]int, b.cellOf((b.center-1)>>b.Shift)+1)
	}

	for _, e := range sample {
		distance, isBelow := b.distance(e)
		cell := b.cellOf(distance >> b.Shift)
		if isBelow {
			below[cell]++
		} else {
			above[cell]++
		}
	}

	return above, below
}

// cutCells divides each cell into buckets with at most about want of its sampled elements, which
// countSample has counted. Cells with few elements share a bucket.
func (b *Buckets[E]) cutCells(above, below []int, want int, tieBits uint) {
	b.cells = b.cells[:0]
	b.first = b.first[:0]
	b.bucketsBelow = 0

	if len(below) > 0 {
		down := b.cutSide(below, E(b.center)-1, want, tieBits)
		b.first = append(b.first, 0)
		for i := len(down) - 1; i > 0; i-- {
			b.first = append(b.first, E(b.center)-down[i])
		}
		b.bucketsBelow = uint64(len(down))
	}

	b.firstLowerCell = uint64(len(above))
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
	histogram []int,
	last E,
	want int,
	tieBits uint,
) (first []E) {
	shared := 0 // number of elements in the last bucket
	mayJoin := false
	for i, n := range histogram {
		value, width := b.cellBounds(uint64(i))
		start := E(value) << b.Shift
		width += b.Shift // the cell consists of 2^width distances

		if n > want {
			wanted := uint((n - 1) / want)
			pieceBits := min(uint(bits.Len(wanted)), width-tieBits)
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
	first []E,
	start E,
	width, shift uint,
	last E,
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
	base := bucket - uint32(start>>shift)
	b.cells = append(b.cells, newCell(base, shift))
}

// minFitted is the minimum number of buckets for which fitting pays off.
const minFitted = 32

// overfullElements returns how many sampled elements are in buckets with several times their
// share. It ignores the majority key of a bucket, because elements equal to it cannot be
// separated.
func (b Buckets[E]) overfullElements(sample []E, count int) int {
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
