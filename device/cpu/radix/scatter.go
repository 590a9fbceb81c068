package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
)

// BlocksAhead is how many blocks of a zone a worker takes at a time at most, see takeBlock.
const BlocksAhead = 16

// Scatterer is what one worker needs to distribute elements into the buckets of their keys.
type Scatterer[K Element, E arena.Word] struct {
	combiner[E]

	pool    *pool.Pool[E]
	numbers []uint32    // of the buckets of the elements in work
	Lists   []pool.List // full blocks and the one in work, for each bucket
	taken   []uint32    // how many blocks those are

	used     int    // buckets in use
	recycled uint32 // the first of the blocks to use before more of the pool
	from     int    // the zone of recycled, or of the last block
	zone     int    // that the blocks of the first bucket come from
	zones    int    // that the buckets are spread over
	ahead    int    // blocks that are taken at a time at most
	taking   int    // that are taken the next time

	majority []K     // of each bucket the key that is counted instead, see MajorityKeys; or nil
	counts   []int64 // how often it came
	added    int     // elements since the counters in next were empty, if keys are counted
}

// ScattererBytes is the memory of a scatterer for buckets, with lines of lineBytes.
func ScattererBytes(buckets, lineBytes int) int {
	return combinerBytes(buckets, lineBytes) + WholeLines(8*buckets) + WholeLines(4*buckets)
}

// NewScatterer makes a scatterer for buckets, with lines of lineBytes, in memory, of which it leaves the rest.
func NewScatterer[K Element, E arena.Word](
	p *pool.Pool[E], memory []byte, buckets, lineBytes int,
) (s *Scatterer[K, E], rest []byte) {
	s = &Scatterer[K, E]{pool: p, numbers: make([]uint32, MaxNumbers)}
	s.combiner, rest = newCombiner(p.Elems, p.Block, memory, buckets, lineBytes)
	lists, rest := Carve[uint64](rest, buckets)
	s.Lists = unsafe.Slice((*pool.List)(unsafe.Pointer(unsafe.SliceData(lists))), buckets)
	s.taken, rest = Carve[uint32](rest, buckets)
	return s, rest
}

// Reset empties the first buckets, which are all that may be used until the next time. Their blocks come from zones
// from zone on, ahead at a time at most. Keys that are majority, if not nil, are counted. Blocks to recycle, which work
// that was cancelled leaves, are dropped.
func (s *Scatterer[K, E]) Reset(buckets, zone, zones, ahead int, majority []K) {
	s.used, s.zone, s.zones = buckets, zone, zones
	s.recycled, s.from, s.ahead, s.taking = pool.None, zone, ahead, 1
	s.majority, s.counts, s.added = majority, make([]int64, len(majority)), 0
	for bucket := range buckets {
		s.empty(bucket)
	}
}

func (s *Scatterer[K, E]) empty(bucket int) {
	s.Lists[bucket], s.to[bucket], s.taken[bucket] = pool.Empty, 0, 0
	s.next[bucket] = uint64(bucket) * s.line()
	if s.majority != nil {
		s.counts[bucket] = 0
	}
}

// Add distributes elems by their keys.
func (s *Scatterer[K, E]) Add(b *Buckets[K], keys []K, elems []E) {
	if s.added += len(elems); s.added > maxUncounted {
		s.emptyCounters()
	}
	majority, _ := any(s.majority).([]E) // only keys are counted
	for len(keys) > 0 {
		n := min(len(keys), MaxNumbers)
		numbers := s.numbers[:n]
		b.number(numbers, keys[:n])
		for at := 0; at < n; {
			done, full := put(&s.combiner, elems[at:n], numbers[at:], majority)
			if full >= 0 {
				s.flush(full)
			}
			at += done
		}
		keys, elems = keys[n:], elems[n:]
	}
}

// emptyCounters adds what at counts to counts.
func (s *Scatterer[K, E]) emptyCounters() {
	s.added = 0
	for bucket := range s.counts {
		s.counts[bucket] += int64(s.next[bucket] >> countShift)
		s.next[bucket] &= 1<<countShift - 1
	}
}

// flush writes the full line of a bucket, which counts as empty already, to its block or to a new one.
func (s *Scatterer[K, E]) flush(bucket int) { s.writeLine(bucket, s.makeRoom(bucket), s.line()) }

// makeRoom is where the line of a bucket goes: to, or a new block if the last one is full.
func (s *Scatterer[K, E]) makeRoom(bucket int) uint64 {
	p := s.pool
	if to := s.to[bucket]; to&s.blockMask != 0 {
		return to
	}
	l := &s.Lists[bucket]
	if l.Tail != pool.None {
		p.Used[l.Tail] = uint32(p.Block)
	}
	block := s.takeBlock(bucket)
	s.taken[bucket]++
	p.Push(l, block)
	return uint64(block) << p.Shift
}

// ZoneOf is the zone of a bucket.
func (s *Scatterer[K, E]) ZoneOf(bucket int) int { return s.zone + bucket*s.zones/s.used }

// takeBlock takes twice as many blocks at a time as long as they are of one zone: where keys come nearly in order, or
// there is one zone, the workers would wait for each other at its lock.
func (s *Scatterer[K, E]) takeBlock(bucket int) uint32 {
	if zone := s.ZoneOf(bucket); zone != s.from {
		s.GiveBack()
		s.from, s.taking = zone, 1
	}
	if s.recycled == pool.None {
		s.recycled = s.pool.Take(s.from, s.taking)
		s.taking = min(2*s.taking, s.ahead)
	}
	block := s.recycled
	s.recycled = s.pool.Next[block]
	return block
}

// Settle ends what is under way in this processor, so that other workers can use the blocks of buckets that are
// dropped, and the sizes of buckets are known.
func (s *Scatterer[K, E]) Settle() {
	s.emptyCounters()
	s.GiveBack()
	StoreFence()
}

// Counts sets ends to the number of elements in each bucket. REQUIRES: as SizeOf.
func (s *Scatterer[K, E]) Counts(ends []uint32) {
	for i := range s.used {
		ends[i] = uint32(s.SizeOf(i))
	}
}

// SizeOf is the number of elements in a bucket. REQUIRES: no element was added since Settle, or no keys are counted.
func (s *Scatterer[K, E]) SizeOf(bucket int) int64 {
	mask, to, blocks := s.blockMask, s.to[bucket], uint64(s.taken[bucket])
	if to&mask != 0 {
		blocks-- // the last one is not full
	}
	_, counted := s.CountOf(bucket)
	return int64(blocks*(mask+1)+to&mask+s.inLine(bucket)) + counted
}

// CountOf is the majority key of a bucket, and how often it came. REQUIRES: no element was added since Settle or
// Finish.
func (s *Scatterer[K, E]) CountOf(bucket int) (value K, count int64) {
	if s.majority == nil {
		return value, 0
	}
	return s.majority[bucket], s.counts[bucket]
}

// DropFrom empties the buckets from one on, whose blocks become free, and returns how many elements they had. REQUIRES:
// no element was added since Settle.
func (s *Scatterer[K, E]) DropFrom(from int) (elements int64) {
	for bucket := from; bucket < s.used; bucket++ {
		elements += s.SizeOf(bucket)
		s.pool.Free(s.ZoneOf(bucket), s.Lists[bucket].Head)
		s.empty(bucket)
	}
	return elements
}

// Finish writes the lines that are not full. After it, Lists are the buckets.
func (s *Scatterer[K, E]) Finish() {
	s.emptyCounters()
	for bucket := range s.used {
		if rest := s.inLine(bucket); rest > 0 {
			s.writeLine(bucket, s.makeRoom(bucket), rest)
		}
		if l := s.Lists[bucket]; l.Tail != pool.None {
			s.pool.Used[l.Tail] = uint32((s.to[bucket]-1)&s.blockMask) + 1
		}
	}
	s.GiveBack()
	StoreFence()
}

// Recycle takes a block whose elements have been read, to be used again.
func (s *Scatterer[K, E]) Recycle(block uint32) {
	s.pool.Next[block], s.recycled = s.recycled, block
}

// GiveBack frees the blocks that were not used.
func (s *Scatterer[K, E]) GiveBack() {
	if s.recycled != pool.None {
		s.pool.Free(s.from, s.recycled)
		s.recycled = pool.None
	}
}
