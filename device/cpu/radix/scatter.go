package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
)

// BlocksAhead is the maximum number of blocks of a zone that a worker takes at a time; see
// takeBlock.
const BlocksAhead = 16

// A Scatterer holds the state of one worker that distributes elements to the buckets of their
// keys.
type Scatterer[K Element, E arena.Word] struct {
	combiner[E]

	pool        *pool.Pool[E]
	numbers     []uint32    // bucket numbers of the current elements
	Lists       []pool.List // full blocks and the current one, per bucket
	blocksTaken []uint32    // number of these blocks, per bucket

	bucketCount  int    // number of buckets in use
	recycled     uint32 // head of the chain of blocks to use before taking more from the pool
	recycledZone int    // zone of recycled, or of the last block
	firstZone    int    // zone of the first bucket
	zoneCount    int    // number of zones of the buckets
	maxAhead     int    // maximum number of blocks to take at a time
	takeNext     int    // number of blocks to take the next time

	majority []K     // the key that is counted, per bucket (see MajorityKeys); may be nil
	counts   []int64 // number of occurrences of the majority key, per bucket
	// number of elements since the counters in lineEnds were emptied, if keys are counted
	uncounted int
}

// ScattererBytes returns the memory of a Scatterer for buckets with lines of lineBytes.
func ScattererBytes(buckets, lineBytes int) int {
	return combinerBytes(buckets, lineBytes) + WholeLines(8*buckets) + WholeLines(4*buckets)
}

// NewScatterer returns a Scatterer for buckets with lines of lineBytes. It takes its memory from
// memory and returns the rest.
func NewScatterer[K Element, E arena.Word](
	p *pool.Pool[E],
	memory []byte,
	buckets, lineBytes int,
) (s *Scatterer[K, E], rest []byte) {
	s = &Scatterer[K, E]{pool: p, numbers: make([]uint32, MaxNumbers)}
	s.combiner, rest = newCombiner(p.Elems, p.BlockElems, memory, buckets, lineBytes)
	lists, rest := Carve[uint64](rest, buckets)
	s.Lists = unsafe.Slice(
		(*pool.List)(unsafe.Pointer(unsafe.SliceData(lists))),
		buckets,
	)
	s.blocksTaken, rest = Carve[uint32](rest, buckets)
	return s, rest
}

// Reset empties the first buckets; only these may be used until the next Reset. Their blocks come
// from the given number of zones, starting at zone, at most ahead at a time. Keys in majority are
// counted, if it is not nil. Reset drops blocks to recycle, which are left by cancelled work.
func (s *Scatterer[K, E]) Reset(
	buckets, zone, zones, ahead int,
	majority []K,
) {
	s.bucketCount = buckets
	s.firstZone = zone
	s.zoneCount = zones
	s.recycled = pool.None
	s.recycledZone = zone
	s.maxAhead = ahead
	s.takeNext = 1
	s.majority = majority
	s.counts = make([]int64, len(majority))
	s.uncounted = 0

	for bucket := range buckets {
		s.emptyBucket(bucket)
	}
}

func (s *Scatterer[K, E]) emptyBucket(bucket int) {
	s.Lists[bucket] = pool.Empty
	s.targets[bucket] = 0
	s.blocksTaken[bucket] = 0
	s.lineEnds[bucket] = uint64(bucket) * s.lineElems()
	if s.majority != nil {
		s.counts[bucket] = 0
	}
}

// Add distributes elems by their keys.
func (s *Scatterer[K, E]) Add(
	b *Buckets[K],
	keys []K,
	elems []E,
) {
	s.uncounted += len(elems)
	if s.uncounted > maxUncounted {
		s.emptyCounters()
	}
	majority, _ := any(s.majority).([]E) // elements are counted only if they are keys
	for len(keys) > 0 {
		n := min(len(keys), MaxNumbers)
		numbers := s.numbers[:n]
		b.numberElements(numbers, keys[:n])
		for at := 0; at < n; {
			done, full := putElements(&s.combiner, elems[at:n], numbers[at:], majority)
			if full >= 0 {
				s.flush(full)
			}
			at += done
		}
		keys = keys[n:]
		elems = elems[n:]
	}
}

// emptyCounters adds the counters in next to counts.
func (s *Scatterer[K, E]) emptyCounters() {
	s.uncounted = 0
	for bucket := range s.counts {
		s.counts[bucket] += int64(s.lineEnds[bucket] >> countShift)
		s.lineEnds[bucket] &= 1<<countShift - 1
	}
}

// flush writes the full line of a bucket, which already counts as empty, to its block or to a new
// one.
func (s *Scatterer[K, E]) flush(bucket int) {
	s.writeLine(bucket, s.placeForLine(bucket), s.lineElems())
}

// placeForLine returns the position for the line of a bucket. It takes a new block if the last one
// is full.
func (s *Scatterer[K, E]) placeForLine(bucket int) uint64 {
	p := s.pool
	to := s.targets[bucket]
	if to&s.blockMask != 0 {
		return to
	}
	l := &s.Lists[bucket]
	if l.Tail != pool.None {
		p.Used[l.Tail] = uint32(p.BlockElems)
	}
	block := s.takeBlock(bucket)
	s.blocksTaken[bucket]++
	p.Push(l, block)
	return uint64(block) << p.BlockShift
}

// ZoneOf returns the zone of a bucket.
func (s *Scatterer[K, E]) ZoneOf(bucket int) int {
	return s.firstZone + bucket*s.zoneCount/s.bucketCount
}

// takeBlock doubles the number of blocks that it takes at a time, as long as they are of the same
// zone. If keys are nearly sorted, or if there is only one zone, workers would otherwise wait for
// each other at the lock of the zone.
func (s *Scatterer[K, E]) takeBlock(bucket int) uint32 {
	zone := s.ZoneOf(bucket)
	if zone != s.recycledZone {
		s.FreeUnused()
		s.recycledZone = zone
		s.takeNext = 1
	}

	if s.recycled == pool.None {
		s.recycled = s.pool.Take(s.recycledZone, s.takeNext)
		s.takeNext = min(2*s.takeNext, s.maxAhead)
	}

	block := s.recycled
	s.recycled = s.pool.Next[block]
	return block
}

// Settle completes all pending work. Afterwards other workers can use the blocks of dropped
// buckets, and the sizes of buckets are known.
func (s *Scatterer[K, E]) Settle() {
	s.emptyCounters()
	s.FreeUnused()
	StoreFence()
}

// CopySizes sets ends to the number of elements in each bucket. REQUIRES: as for SizeOf
func (s *Scatterer[K, E]) CopySizes(ends []uint32) {
	for i := range s.bucketCount {
		ends[i] = uint32(s.SizeOf(i))
	}
}

// SizeOf returns the number of elements in a bucket. REQUIRES: no element was added since Settle,
// or no keys are counted
func (s *Scatterer[K, E]) SizeOf(bucket int) int64 {
	mask := s.blockMask
	to := s.targets[bucket]
	blocks := uint64(s.blocksTaken[bucket])
	if to&mask != 0 {
		blocks-- // the last block is partial
	}
	_, counted := s.MajorityOf(bucket)
	return int64(blocks*(mask+1)+to&mask+s.elemsInLine(bucket)) + counted
}

// MajorityOf returns the majority key of a bucket and its number of occurrences. REQUIRES: no
// element was added since Settle or Finish
func (s *Scatterer[K, E]) MajorityOf(bucket int) (value K, count int64) {
	if s.majority == nil {
		return value, 0
	}
	return s.majority[bucket], s.counts[bucket]
}

// DropFrom empties all buckets from the given one on and frees their blocks. It returns the
// number of elements that they contained. REQUIRES: no element was added since Settle
func (s *Scatterer[K, E]) DropFrom(from int) (elements int64) {
	for bucket := from; bucket < s.bucketCount; bucket++ {
		elements += s.SizeOf(bucket)
		s.pool.Free(s.ZoneOf(bucket), s.Lists[bucket].Head)
		s.emptyBucket(bucket)
	}
	return elements
}

// Finish writes the partial lines. Afterwards, Lists contains the buckets.
func (s *Scatterer[K, E]) Finish() {
	s.emptyCounters()
	for bucket := range s.bucketCount {
		rest := s.elemsInLine(bucket)
		if rest > 0 {
			s.writeLine(bucket, s.placeForLine(bucket), rest)
		}
		l := s.Lists[bucket]
		if l.Tail != pool.None {
			s.pool.Used[l.Tail] = uint32((s.targets[bucket]-1)&s.blockMask) + 1
		}
	}

	s.FreeUnused()
	StoreFence()
}

// Recycle accepts a block whose elements have been read, for reuse.
func (s *Scatterer[K, E]) Recycle(block uint32) {
	s.pool.Next[block] = s.recycled
	s.recycled = block
}

// FreeUnused frees the unused blocks.
func (s *Scatterer[K, E]) FreeUnused() {
	if s.recycled != pool.None {
		s.pool.Free(s.recycledZone, s.recycled)
		s.recycled = pool.None
	}
}
