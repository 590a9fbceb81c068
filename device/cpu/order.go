package cpu

import (
	"cmp"
	"slices"
	"sync"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
)

// order remembers in which order workers read the records of a Load, so that the parts of a bucket, of which every
// worker has one, can be read in the order of the input: that keeps records with equal keys in it.
//
// What a worker read in sequence, one unit or several, is a segment. Of each it is known how many records the worker
// had put in each bucket when it ended.
type order struct {
	table   *arena.Memory // of ends
	buckets int
	lists   [][]pool.List // of each worker, its buckets

	mu       sync.Mutex
	ends     []uint32 // of each segment in the order in which they began, for each bucket: the records of its worker in it
	segments []segment
	most     int   // segments that there is room for
	reading  int   // workers that may read a unit which is a segment of its own, but for the first
	last     []int // of each worker its last segment, or -1
}

// segment is the records from first up to end of the source. Its ends are the slot-th.
type segment struct {
	first, end   int64
	worker, slot int
}

// newOrder has room for segments of buckets.
func newOrder(segments, buckets int) (*order, error) {
	table, err := arena.Alloc(4 * segments * buckets)
	if err != nil {
		return nil, err
	}
	return &order{table: table, ends: arena.View[uint32](table.Bytes()), most: segments}, nil
}

// reset begins with no segments. It does nothing on nil.
func (o *order) reset(buckets, workers int) {
	if o == nil {
		return
	}
	o.buckets, o.reading = buckets, 0
	o.segments = slices.Grow(o.segments[:0], o.most)
	o.last = slices.Repeat([]int{-1}, workers)
}

func (o *order) free() error {
	if o == nil {
		return nil
	}
	o.lists, o.ends = nil, nil
	return o.table.Free()
}

// admit reports whether a worker may read another unit; else it is to leave. Where a source delivers so little at a
// time that there is no room for as many segments, the first worker goes on alone, and all of it is one segment of its
// own. All may read on nil.
func (o *order) admit(worker int) bool {
	if o == nil || worker == 0 {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	// Each unit of another worker is a segment and may end one of the first worker's, which may be about to begin one.
	if len(o.segments)+2*(o.reading+1)+2 > o.most {
		return false
	}
	o.reading++
	return true
}

// maxSegment is the greatest number of records of a segment: ends are counted modulo 2^32.
const maxSegment = 1<<32 - 1

// note takes that a worker has read n records from first on, and gives the ends to fill in.
func (o *order) note(worker int, first, n int64) (ends []uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if worker != 0 {
		o.reading--
	}
	if last := o.last[worker]; last >= 0 && o.segments[last].end == first && first+n-o.segments[last].first <= maxSegment {
		o.segments[last].end += n
		return o.endsOf(last)
	}
	slot := len(o.segments)
	o.segments = append(o.segments, segment{first: first, end: first + n, worker: worker, slot: slot})
	o.last[worker] = slot
	return o.endsOf(slot)
}

func (o *order) endsOf(slot int) []uint32 { return o.ends[slot*o.buckets:][:o.buckets] }

// sort puts the segments in the order of the input. REQUIRES: no unit is noted after it.
func (o *order) sort() {
	slices.SortFunc(o.segments, func(a, b segment) int { return cmp.Compare(a.first, b.first) })
}

// eachOrdered gives the elements of a bucket of the order, see engine.pieces.
func eachOrdered[E arena.Word](o *order, p *pool.Pool[E], bucket int, yield func([]E) bool) {
	type cursor struct {
		rest []E    // of the block before next that is yet to be given
		next uint32 // block
		done uint32 // records before rest
	}
	var few [16]cursor
	cursors := few[:0]
	for _, lists := range o.lists {
		cursors = append(cursors, cursor{next: lists[bucket].Head})
	}
	for i := range o.segments {
		s := &o.segments[i]
		cur := &cursors[s.worker]
		end := o.endsOf(s.slot)[bucket]
		for n := int(end - cur.done); n > 0; {
			if len(cur.rest) == 0 {
				cur.rest, cur.next = p.Content(cur.next), p.Next[cur.next]
			}
			piece := cur.rest[:min(n, len(cur.rest))]
			cur.rest, n = cur.rest[len(piece):], n-len(piece)
			if !yield(piece) {
				return
			}
		}
		cur.done = end
	}
}
