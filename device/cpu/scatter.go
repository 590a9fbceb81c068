package cpu

import "math/bits"

// buckets maps elements to buckets, in order. The first bucket holds also those that are below the range that was cut,
// the last one those above.
//
// Plain buckets have equal widths: bucket b holds the elements from low + b<<shift on. Fitted buckets have cells, and each
// cell has its own map to buckets, see fittedBuckets.
//
// number_amd64.s knows where the fields up to grading are: low 0, shift 8, last 16, cells 24 and grading 48 bytes from the
// start.
type buckets[E element] struct {
	low   E
	shift uint // of a plain bucket, or of the narrowest cells
	last  E    // plain: the last bucket; fitted: the last element, less low
	cells []cell
	grading
	first []E // fitted: of each bucket its first element, less low
}

// newBuckets cuts the elements from low to high into at most count buckets, without telling apart elements that
// differ in the lowest tieBits only.
func newBuckets[E element](low, high E, count int, tieBits uint) buckets[E] {
	low = low >> tieBits << tieBits
	width := uint(bits.Len64(uint64(high - low)))
	shift := tieBits
	if digit := uint(bits.Len(uint(count)) - 1); width > digit {
		shift = max(shift, width-digit)
	}
	return buckets[E]{low: low, shift: shift, last: min(E(count-1), (high-low)>>shift)}
}

func (b buckets[E]) fitted() bool { return len(b.cells) > 0 }

// graded says that the cells of fitted buckets grow.
func (b buckets[E]) graded() bool { return b.bits > 0 }

func (b buckets[E]) count() int {
	if b.fitted() {
		return len(b.first)
	}
	return int(b.last) + 1
}

// span is the range of the elements of a bucket, if all elements are from low to high. The first and the last bucket
// may hold elements that it was not made for: then nothing is known of them.
func (b buckets[E]) span(bucket int, low, high E) (first, last E) {
	first, last = b.bounds(bucket)
	if bucket == 0 && low < first || bucket == b.count()-1 && high > last {
		return low, high
	}
	return max(first, low), min(last, high)
}

// bounds are the first and the last element that a bucket was made for.
func (b buckets[E]) bounds(bucket int) (first, last E) {
	switch {
	case !b.fitted():
		first = b.low + E(bucket)<<b.shift
		return first, first + min(E(1)<<b.shift-1, ^E(0)-first)
	case bucket == len(b.first)-1:
		return b.low + b.first[bucket], b.low + b.last
	}
	return b.low + b.first[bucket], b.low + (b.first[bucket+1] - 1)
}

func (b buckets[E]) of(e E) int {
	if !b.fitted() {
		return int(min((max(e, b.low)-b.low)>>b.shift, b.last))
	}
	distance, isBelow := b.distance(e)
	cell := b.cellOf(distance >> b.shift)
	if isBelow {
		return int(b.below) - 1 - int(b.cells[b.lower+cell].bucket(distance))
	}
	return int(b.below) + int(b.cells[cell].bucket(distance))
}

// distance is that of an element from the center of fitted buckets.
func (b buckets[E]) distance(e E) (distance uint64, isBelow bool) {
	x := uint64(min(max(e, b.low)-b.low, b.last))
	if x < b.center {
		return b.center - 1 - x, true
	}
	return x - b.center, false
}

// numbersAtMost is how many elements are numbered at a time: their numbers stay in L1 until the elements are put where these say.
const numbersAtMost = 1024

// number sets numbers to the buckets of elems.
func (b *buckets[E]) number(numbers []uint32, elems []E) {
	done := numberFast(b, numbers, elems)
	numberLoop(b, numbers[done:], elems[done:])
}

func numberLoop[E element](b *buckets[E], numbers []uint32, elems []E) {
	numbers = numbers[:len(elems)]
	low, last, shift := b.low, b.last, b.shift
	switch {
	case !b.fitted():
		for i, e := range elems {
			numbers[i] = uint32(min((max(e, low)-low)>>(shift&lastBit[E]()), last))
		}
	case !b.graded():
		cells := b.cells
		for i, e := range elems {
			x := min(max(e, low)-low, last)
			numbers[i] = cells[x>>(shift&lastBit[E]())].bucket(uint64(x))
		}
	default:
		g, cells := b.grading, b.cells
		for i, e := range elems {
			numbers[i] = g.number(cells, uint64(min(max(e, low)-low, last)), shift)
		}
	}
}

// number is the bucket of the element x above the range's low end, without a branch, as nothing tells on which side of the center
// an element will be. Of a distance x below the center, center - 1 - x is the complement of x - center.
func (g *grading) number(cells []cell, x uint64, shift uint) uint32 {
	distance, isBelow := bits.Sub64(x, g.center, 0)
	flip := -isBelow
	distance ^= flip
	at := distance >> (shift & 63)
	coarser := int64(bits.Len64(at|1)) - 1 - int64(g.bits)
	coarser &^= coarser >> 63
	at = at>>(coarser&63) + uint64(coarser)<<(g.bits&63) + g.lower&flip
	return cells[at].bucket(distance) ^ uint32(flip) + uint32(g.below)
}

// scatterer is what one worker needs to distribute elements into buckets.
type scatterer[E element] struct {
	combiner[E]

	heavy   *heavies[E] // elements that are counted instead, or nil
	counts  []int64     // how often each of them came
	counted int         // elements added since the counters in next were empty
}

// newScatterer makes a scatterer for so many buckets, with lines of so many bytes, in memory, of which it leaves the rest.
func newScatterer[E element](p *pool[E], memory []byte, buckets, lineBytes int) (s *scatterer[E], rest []byte) {
	s = &scatterer[E]{}
	s.combiner, rest = newCombiner(p, memory, buckets, lineBytes)
	return s, rest
}

// reset empties the first so many buckets, which are all that add and finish may see. Their blocks come from so many
// zones from zone on.
func (s *scatterer[E]) reset(buckets, zone, zones int) {
	s.combiner.reset(buckets, zone, zones)
	s.heavy, s.counted = nil, 0
}

// add distributes elems.
func (s *scatterer[E]) add(b *buckets[E], elems []E) {
	if s.heavy == nil {
		distribute(&s.combiner, b, elems, elems, putFast[E])
		return
	}
	if s.counted += len(elems); s.counted > countedAtMost {
		s.emptyCounters()
	}
	distribute(&s.combiner, b, elems, elems, s.count)
}

// count is putFast that counts heavy elements. c is the combiner of s.
func (s *scatterer[E]) count(_ *combiner[E], elems []E, numbers []uint32) (done, full int) {
	return countFast(s, elems, numbers)
}

// countLoop is putLoop that counts heavy elements.
func countLoop[E element](s *scatterer[E], elems []E, numbers []uint32) (done, full int) {
	line := uint64(s.line)
	for i, number := range numbers[:len(elems)] {
		e, before := elems[i], s.next[number]
		s.lines[uint32(before)] = e
		after := before + 1
		if uint64(e) == s.heavy.perBucket[number] {
			after = before + 1<<countShift
		}
		if (after^before)&line != 0 {
			s.next[number] = after - line
			return i + 1, int(number)
		}
		s.next[number] = after
	}
	return len(elems), -1
}

// settle ends what is under way in this processor, so that other workers can use the blocks of buckets that are dropped, and the
// sizes of buckets are known.
func (s *scatterer[E]) settle() {
	if s.heavy != nil {
		s.emptyCounters()
	}
	storeFence()
}

// sizeOf is the number of elements in a bucket. REQUIRES: nothing was added since settle.
func (s *scatterer[E]) sizeOf(bucket int) int64 {
	_, counted := s.countOf(bucket)
	return s.combiner.sizeOf(bucket) + counted
}

// dropFrom empties the buckets from one on, and returns how many elements they had. REQUIRES: nothing was added since settle.
func (s *scatterer[E]) dropFrom(from int) (elements int64) {
	elements = s.combiner.dropFrom(from)
	if s.heavy != nil {
		for _, slot := range s.heavy.slots[from:] {
			if slot > 0 {
				elements += s.counts[slot-1]
				s.counts[slot-1] = 0
			}
		}
	}
	return elements
}

// finish writes the lines that are not full. After it, lists are the buckets.
func (s *scatterer[E]) finish() {
	if s.heavy != nil {
		s.emptyCounters()
	}
	s.combiner.finish()
}
