package cpu

import (
	"cmp"
	"slices"
	"sync"
)

// order remembers in which order workers read the records of a Load, so that the parts of a bucket, of which every
// worker has one, can be read in the order of the input: that keeps records with equal keys in it.
//
// What a worker read in sequence, one unit or several, is a segment. Of each it is known how many records the worker
// had put in each bucket when it ended.
type order struct {
	buckets int

	mu       sync.Mutex
	ends     []uint32 // of each segment in the order in which they began, for each bucket: the records of its worker in it
	segments []segment
	most     int   // segments that there is room for
	reading  int   // workers that read a unit which may be a segment of its own, but for the first
	last     []int // of each worker its last segment, or -1
}

// segment is the records from first up to end of the source. Its ends are the slot-th.
type segment struct {
	first, end   int64
	worker, slot int
}

// reset begins with no segments. ends has room for most of them.
func (o *order) reset(ends []uint32, buckets, workers, most int) {
	o.buckets, o.ends, o.most, o.reading = buckets, ends, most, 0
	o.segments = slices.Grow(o.segments[:0], most)
	o.last = slices.Repeat([]int{-1}, workers)
}

// admit reports whether a worker may read another unit; else it is to leave. Where a source delivers so little at a
// time that there is no room for as many segments, the first worker goes on alone, and all of it is one segment of its
// own.
func (o *order) admit(worker int) bool {
	if worker == 0 {
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

// end takes that a worker that was admitted found nothing to read.
func (o *order) end(worker int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if worker != 0 {
		o.reading--
	}
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
