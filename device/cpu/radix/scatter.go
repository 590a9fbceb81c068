package radix

import (
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
)

// Scatterer is what one worker needs to distribute elements into the buckets of their keys.
type Scatterer[K Element, E arena.Word] struct {
	Combiner[E]

	equalities *Equalities[K] // elements, which are keys, that are counted instead; or nil
	counts     []int64        // how often each of them came
	counted    int            // elements added since the counters in next were empty
}

// NewScatterer makes a scatterer for so many buckets, with lines of so many bytes, in memory, of which it leaves
// the rest.
func NewScatterer[K Element, E arena.Word](
	p *pool.Pool[E], memory []byte, buckets, lineBytes int,
) (s *Scatterer[K, E], rest []byte) {
	s = &Scatterer[K, E]{}
	s.Combiner, rest = NewCombiner(p, memory, buckets, lineBytes)
	return s, rest
}

// Reset empties the first so many buckets, which are all that add and finish may see. Their blocks come from so many
// zones from zone on.
func (s *Scatterer[K, E]) Reset(buckets, zone, zones int) {
	s.Combiner.Reset(buckets, zone, zones)
	s.equalities, s.counted = nil, 0
}

// Add distributes elems by their keys.
func (s *Scatterer[K, E]) Add(b *Buckets[K], keys []K, elems []E) {
	if s.equalities == nil {
		Distribute(&s.Combiner, b, keys, elems, PutFast[E])
		return
	}
	if s.counted += len(elems); s.counted > maxUncounted {
		s.emptyCounters()
	}
	Distribute(&s.Combiner, b, keys, elems, s.count)
}

// count is putFast that counts majority keys. REQUIRES: elements are keys.
func (s *Scatterer[K, E]) count(_ *Combiner[E], elems []E, numbers []uint32) (done, full int) {
	return countFast(any(s).(*Scatterer[K, K]), arena.View[K](arena.ByteView(elems)), numbers)
}

// countLoop is putLoop that counts majority keys.
func countLoop[E Element](s *Scatterer[E, E], elems []E, numbers []uint32) (done, full int) {
	line := uint64(s.line)
	for i, number := range numbers[:len(elems)] {
		e, before := elems[i], s.next[number]
		s.lines[uint32(before)] = e
		after := before + 1
		if uint64(e) == s.equalities.perBucket[number] {
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

// Settle ends what is under way in this processor, so that other workers can use the blocks of buckets that are
// dropped, and the sizes of buckets are known.
func (s *Scatterer[K, E]) Settle() {
	if s.equalities != nil {
		s.emptyCounters()
	}
	StoreFence()
}

// SizeOf is the number of elements in a bucket. REQUIRES: nothing was added since settle.
func (s *Scatterer[K, E]) SizeOf(bucket int) int64 {
	_, counted := s.CountOf(bucket)
	return s.Combiner.SizeOf(bucket) + counted
}

// DropFrom empties the buckets from one on, and returns how many elements they had. REQUIRES: nothing was added
// since settle.
func (s *Scatterer[K, E]) DropFrom(from int) (elements int64) {
	elements = s.Combiner.DropFrom(from)
	if s.equalities != nil {
		for _, slot := range s.equalities.slots[from:] {
			if slot > 0 {
				elements += s.counts[slot-1]
				s.counts[slot-1] = 0
			}
		}
	}
	return elements
}

// Finish writes the lines that are not full. After it, lists are the buckets.
func (s *Scatterer[K, E]) Finish() {
	if s.equalities != nil {
		s.emptyCounters()
	}
	s.Combiner.Finish()
}
