package cpu

import "math/bits"

// buckets maps elements to buckets, in order. The first bucket holds also those that are below the range that was cut,
// the last one those above.
//
// Plain buckets have equal widths: bucket b holds the elements from low + b<<shift on. Fitted buckets have cells, and each
// cell has its own map to buckets, see fittedBuckets.
//
// scatter_amd64.s knows where the fields up to grading are: low 0, shift 8, last 16, cells 24 and grading 48 bytes from the
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

// scatterer is what one worker needs to distribute elements into buckets.
type scatterer[E element] struct {
	combiner[E]

	heavy   *heavies[E] // elements that are counted instead, or nil
	counts  []int64     // how often each of them came
	counted int         // elements added since the counters in at were empty
}

// newScatterer makes a scatterer for so many buckets in memory, of which it leaves the rest.
func newScatterer[E element](p *pool[E], memory []byte, buckets int) (s *scatterer[E], rest []byte) {
	s = &scatterer[E]{}
	s.combiner, rest = newCombiner(p, memory, buckets)
	return s, rest
}

// reset empties the first so many buckets, which are all that add and finish may see. Their blocks come from so many
// zones from zone on.
func (s *scatterer[E]) reset(buckets, zone, zones int) {
	s.combiner.reset(buckets, zone, zones)
	s.heavy, s.counted = nil, 0
}

// none64 is the bucket that scatterLoop names at the end.
const none64 = ^uint64(0)

// add distributes elems.
func (s *scatterer[E]) add(b buckets[E], elems []E) {
	if s.heavy != nil {
		if s.counted += len(elems); s.counted > countedAtMost {
			s.emptyCounters()
		}
	}
	for len(elems) > 0 {
		done, full := scatterFast(s, &b, elems)
		if full != none64 {
			s.flush(full)
		}
		elems = elems[done:]
	}
}

// scatterLoop distributes elems until one of them fills the line of a bucket whose block is full: done
// elements are in their lines then, or counted, and full is that bucket, or none64 at the end of elems.
func scatterLoop[E element](s *scatterer[E], b *buckets[E], elems []E) (done int, full uint64) {
	if s.heavy != nil {
		return countLoop(s, b, elems)
	}
	line, blockMask := uint64(s.line), uint64(s.pool.block-1)
	lines, at, pool := s.lines[:b.count()*s.line], s.at[:b.count()], s.pool.elems
	for i, e := range elems {
		digit := uint64(b.of(e))
		to := at[digit]
		lines[digit*line+to%line] = e
		at[digit] = to + 1
		if (to+1)%line != 0 {
			continue
		}
		to -= line - 1
		if to&blockMask == 0 {
			return i + 1, digit
		}
		copy(pool[to:to+line], lines[digit*line:])
	}
	return len(elems), none64
}

// countLoop is scatterLoop that counts heavy elements.
func countLoop[E element](s *scatterer[E], b *buckets[E], elems []E) (done int, full uint64) {
	line, blockMask := uint64(s.line), uint64(s.pool.block-1)
	lines, at, pool, heavy := s.lines[:b.count()*s.line], s.at[:b.count()], s.pool.elems, s.heavy.perBucket[:b.count()]
	for i, e := range elems {
		digit := uint64(b.of(e))
		before := at[digit]
		lines[digit*line+before%line] = e
		after := before + 1
		if uint64(e) == heavy[digit] {
			after = before + 1<<countShift
		}
		at[digit] = after
		if (after^before)&line == 0 {
			continue
		}
		to := (after - line) & (1<<countShift - 1)
		if to&blockMask == 0 {
			return i + 1, digit
		}
		copy(pool[to:to+line], lines[digit*line:])
	}
	return len(elems), none64
}

// flush writes the full line of a bucket to a new block.
func (s *scatterer[E]) flush(digit uint64) {
	counted := s.at[digit] >> countShift << countShift // 0 without heavy elements
	s.at[digit] -= counted
	s.flushLine(digit)
	s.at[digit] += counted
}

// finish writes the lines that are not full. After it, lists are the buckets.
func (s *scatterer[E]) finish() {
	if s.heavy != nil {
		s.emptyCounters()
	}
	s.combiner.finish()
}
