package cpu

import (
	"cmp"
	"slices"
	"sync"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
)

// order records the order in which the workers read the records of a Load. Each worker has a part
// of every bucket. With the order, the parts of a bucket can be read in input order, which
// preserves the order of records with equal keys.
//
// A segment consists of one or more units that one worker read consecutively. For each segment,
// order stores how many records the worker had put into each bucket when the segment ended.
type order struct {
	table       *arena.Memory // memory of ends
	buckets     int
	workerLists [][]pool.List // the buckets of each worker

	mu sync.Mutex
	// ends holds, for each segment in the order in which they began, and for each bucket, how
	// many records its worker had put into the bucket.
	ends        []uint32
	segments    []segment
	maxSegments int // maximum number of segments
	// unitsInProgress is the number of units that workers, except the first, are reading. Each of
	// them may become a new segment.
	unitsInProgress int
	lastSegment     []int // the last segment of each worker, or noSegment
}

// noSegment is the last segment of a worker that has not read a unit yet.
const noSegment = -1

// segment consists of the records [first, end) of the source. slot is the index of its ends.
type segment struct {
	first, end   int64
	worker, slot int
}

// newOrder returns an order with space for the given number of segments and buckets.
func newOrder(segments, buckets int) (*order, error) {
	table, err := arena.Alloc(4 * segments * buckets)
	if err != nil {
		return nil, err
	}
	return &order{
		table:       table,
		ends:        arena.View[uint32](table.Bytes()),
		maxSegments: segments,
	}, nil
}

// reset removes all segments. o may be nil.
func (o *order) reset(buckets, workers int) {
	if o == nil {
		return
	}
	o.buckets = buckets
	o.unitsInProgress = 0
	o.segments = slices.Grow(o.segments[:0], o.maxSegments)
	o.lastSegment = slices.Repeat([]int{noSegment}, workers)
}

func (o *order) free() error {
	if o == nil {
		return nil
	}
	o.workerLists = nil
	o.ends = nil
	return o.table.Free()
}

// admit reports whether a worker may read another unit; otherwise the worker must stop. The first
// worker is always admitted. The others are admitted as long as there is space for the segments of
// all units that are being read. If a source delivers such small units that the space runs out,
// only the first worker continues. Its units are then adjacent, so they form a single segment. If
// o is nil, all workers are admitted.
func (o *order) admit(worker int) bool {
	if o == nil || worker == 0 {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()

	// A unit of another worker may need two segments: one for itself, and one because it
	// interrupts the first worker, whose next unit then begins a new segment. Two segments are
	// reserved for the first worker: for the unit that it is reading, and for all later ones.
	units := o.unitsInProgress + 1
	needed := 2*units + 2
	if len(o.segments)+needed > o.maxSegments {
		return false
	}

	o.unitsInProgress++
	return true
}

// maxSegment is the maximum number of records of a segment, because ends are counted modulo 2^32.
const maxSegment = 1<<32 - 1

// noteUnit records that a worker has read n records from first on. It returns the ends to fill
// in.
func (o *order) noteUnit(worker int, first, n int64) (ends []uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()

	if worker != 0 {
		o.unitsInProgress--
	}
	if last := o.lastSegment[worker]; last != noSegment {
		s := &o.segments[last]
		if s.end == first && first+n-s.first <= maxSegment {
			s.end += n
			return o.endsOf(last)
		}
	}

	slot := len(o.segments)
	o.segments = append(o.segments, segment{
		first:  first,
		end:    first + n,
		worker: worker,
		slot:   slot,
	})
	o.lastSegment[worker] = slot
	return o.endsOf(slot)
}

func (o *order) endsOf(slot int) []uint32 {
	return o.ends[slot*o.buckets:][:o.buckets]
}

// sortSegments sorts the segments by their position in the input. REQUIRES: noteUnit is not called
// afterwards
func (o *order) sortSegments() {
	slices.SortFunc(o.segments, func(a, b segment) int {
		return cmp.Compare(a.first, b.first)
	})
}

// eachOrdered yields the elements of a bucket in input order; see pipeline.pieces.
func eachOrdered[E arena.Word](
	o *order,
	p *pool.Pool[E],
	bucket int,
	yield func([]E) bool,
) {
	type cursor struct {
		rest []E    // the rest of the current block
		next uint32 // the block after the current one
		done uint32 // number of records before rest
	}
	var few [16]cursor
	cursors := few[:0]
	for _, lists := range o.workerLists {
		cursors = append(cursors, cursor{next: lists[bucket].Head})
	}
	for i := range o.segments {
		s := &o.segments[i]
		cur := &cursors[s.worker]
		end := o.endsOf(s.slot)[bucket]
		for n := int(end - cur.done); n > 0; {
			if len(cur.rest) == 0 {
				cur.rest = p.Content(cur.next)
				cur.next = p.Next[cur.next]
			}
			piece := cur.rest[:min(n, len(cur.rest))]
			cur.rest = cur.rest[len(piece):]
			n = n - len(piece)
			if !yield(piece) {
				return
			}
		}
		cur.done = end
	}
}
