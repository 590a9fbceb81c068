package radix

import (
	"math/bits"
)

// Buckets maps elements to buckets in ascending order. The first bucket also contains elements
// below the range of the buckets, and the last one those above it.
//
// Plain buckets have equal widths: bucket b contains the elements from low + b<<shift on. Fitted
// buckets consist of cells, each with its own map to buckets; see FittedBuckets.
//
// number_amd64.s depends on the offsets of the fields up to grading: low at 0, shift at 8, last
// at 16, cells at 24 and grading at 48 bytes.
type Buckets[E Element] struct {
	low   E
	Shift uint // of a plain bucket, or of the narrowest cells
	last  E    // plain: the last bucket; fitted: the last element, minus low
	cells []cell
	grading
	first []E // fitted: the first element of each bucket, minus low
}

// NewBuckets divides the elements from low to high into at most count buckets. It never separates
// elements that differ only in the lowest tieBits bits.
func NewBuckets[E Element](low, high E, count int, tieBits uint) Buckets[E] {
	low = low >> tieBits << tieBits
	width := uint(bits.Len64(uint64(high - low)))
	shift := tieBits
	digit := uint(bits.Len(uint(count)) - 1)
	if width > digit {
		shift = max(shift, width-digit)
	}
	return Buckets[E]{
		low:   low,
		Shift: shift,
		last:  min(E(count-1), (high-low)>>shift),
	}
}

// isFitted reports whether buckets are fitted rather than plain.
func (b Buckets[E]) isFitted() bool {
	return len(b.cells) > 0
}

// isGraded reports whether the widths of the cells of fitted buckets increase with their distance
// from a center.
func (b Buckets[E]) isGraded() bool {
	return b.mantissaBits > 0
}

// Count returns the number of buckets.
func (b Buckets[E]) Count() int {
	if b.isFitted() {
		return len(b.first)
	}
	return int(b.last) + 1
}

// Span returns the range of the elements of a bucket, given that all elements are from low to
// high. The first and the last bucket may contain elements outside their bounds; their range is
// then that of all elements.
func (b Buckets[E]) Span(bucket int, low, high E) (first, last E) {
	first, last = b.Bounds(bucket)
	hasLower := bucket == 0 && low < first
	hasHigher := bucket == b.Count()-1 && high > last
	if hasLower || hasHigher {
		return low, high
	}
	return max(first, low), min(last, high)
}

// Bounds returns the first and the last element in the nominal range of a bucket.
func (b Buckets[E]) Bounds(bucket int) (first, last E) {
	switch {
	case !b.isFitted():
		first = b.low + E(bucket)<<b.Shift
		return first, first + min(E(1)<<b.Shift-1, ^E(0)-first)
	case bucket == len(b.first)-1:
		return b.low + b.first[bucket], b.low + b.last
	}
	return b.low + b.first[bucket], b.low + (b.first[bucket+1] - 1)
}

// BucketOf returns the bucket of an element.
func (b Buckets[E]) BucketOf(e E) int {
	if !b.isFitted() {
		return int(min((max(e, b.low)-b.low)>>b.Shift, b.last))
	}
	distance, isBelow := b.distance(e)
	cell := b.cellOf(distance >> b.Shift)
	if isBelow {
		lower := b.cells[b.firstLowerCell+cell].bucketOf(distance)
		return int(b.bucketsBelow) - 1 - int(lower)
	}
	upper := b.cells[cell].bucketOf(distance)
	return int(b.bucketsBelow) + int(upper)
}

// distance returns the distance of an element from the center of fitted buckets.
func (b Buckets[E]) distance(e E) (distance uint64, isBelow bool) {
	x := uint64(min(max(e, b.low)-b.low, b.last))
	if x < b.center {
		return b.center - 1 - x, true
	}
	return x - b.center, false
}

// MaxNumbers is the number of elements that are mapped to bucket numbers at a time. The numbers
// stay in L1 until the elements have been moved.
const MaxNumbers = 1024

// numberElements sets numbers to the buckets of elems.
func (b *Buckets[E]) numberElements(numbers []uint32, elems []E) {
	done := numberVectors(b, numbers, elems)
	numberLoop(b, numbers[done:], elems[done:])
}

// numberLoop is numberElements without vector instructions.
func numberLoop[E Element](b *Buckets[E], numbers []uint32, elems []E) {
	numbers = numbers[:len(elems)]
	low := b.low
	last := b.last
	shift := b.Shift

	switch {
	case !b.isFitted():
		for i, e := range elems {
			numbers[i] = uint32(
				min((max(e, low)-low)>>(shift&lastBit[E]()), last),
			)
		}
	case !b.isGraded():
		cells := b.cells
		for i, e := range elems {
			x := min(max(e, low)-low, last)
			numbers[i] = cells[x>>(shift&lastBit[E]())].bucketOf(uint64(x))
		}
	default:
		b.numberGraded(numbers, elems)
	}
}

// numberGraded is numberLoop for graded cells. It avoids branches, because the side of the center on
// which an element lies is not predictable. Below the center, the distance center - 1 - x is the
// complement of x - center.
func (b *Buckets[E]) numberGraded(numbers []uint32, elems []E) {
	low := b.low
	last := b.last
	shift := b.Shift
	cells := b.cells
	center := b.center
	digit := b.mantissaBits
	lower := b.firstLowerCell
	below := uint32(b.bucketsBelow)

	for i, e := range elems {
		distance, isBelow := bits.Sub64(
			uint64(min(max(e, low)-low, last)),
			center,
			0,
		)
		flip := -isBelow
		distance ^= flip
		at := distance >> (shift & 63)
		coarser := uint64(bits.Len64(at >> (digit & 63) >> 1))
		at = at>>(coarser&63) + coarser<<(digit&63) + lower&flip
		numbers[i] = cells[at].bucketOf(distance) ^ uint32(flip) + below
	}
}

// CutAt returns two buckets: the elements less than value, and those greater than it. REQUIRES:
// no element equals value
func CutAt[E Element](value E) Buckets[E] {
	if value == 0 {
		return Buckets[E]{}
	}
	shift := uint(bits.Len64(uint64(value)) - 1)
	return Buckets[E]{
		low:   value - E(1)<<shift,
		Shift: shift,
		last:  1,
	}
}
