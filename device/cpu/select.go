package cpu

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/device"
)

// Select implements device.Chunk for bare keys. What is only counted takes no room: there may be more records than the chunk was
// made for. Of records that stay where they are read to, those left out would leave holes.
func (c *chunk[E]) Select(ctx context.Context, src device.Source, low, high uint64) (records int64, last uint64, err error) {
	if c.keptRecords > 0 {
		return 0, 0, errors.ErrUnsupported
	}
	s := newSelection(E(low), E(high))
	records, err = c.load(ctx, src, s)
	if s.high() == E(high) {
		return records, high, err
	}
	return records, uint64(s.high()), err
}

// Select implements device.Chunk.
func (c *carrier[R]) Select(ctx context.Context, src device.Source, low, high uint64) (records int64, last uint64, err error) {
	s := newSelection(low, high)
	records, err = c.load(ctx, src, s)
	return records, s.high(), err
}

// selection is what a Load takes of its source, the elements from low to low+span, and how it comes to take less. Elements are those
// that buckets are cut by. Buckets are cut for all of the range, and where more is to be left out, those with the greatest elements
// are dropped, with what they hold by then.
type selection[E element] struct {
	low, span E
	shareOf   func(costs) float64

	in       *intake
	touch    *touching
	sample   []E     // of the elements from low to low+span, in order
	expected float64 // elements from low to low+span
	bytes    float64 // of the chunk's memory for each

	interrupt atomic.Bool // workers are to stop, as it is worth to leave more out
	mu        sync.Mutex  // protects the following
	share     float64     // of the elements from low to low+span that is to be loaded; 0: all of them
}

func newSelection[E element](low, high E) *selection[E] {
	return &selection[E]{low: low, span: high - low, shareOf: shareWorth}
}

// high is the greatest element that is taken.
func (s *selection[E]) high() E { return s.low + s.span }

// bounds are the least and the greatest element that is taken. They are those of all on nil.
func (s *selection[E]) bounds() (low, high E) {
	if s == nil {
		return 0, ^E(0)
	}
	return s.low, s.high()
}

// takesAll reports whether nothing is left out. It is true on nil.
func (s *selection[E]) takesAll() bool { return s == nil || s.span == ^E(0) }

// within leaves out what of elems is not selected, in place. It leaves out nothing on nil.
func (s *selection[E]) within(elems []E) []E {
	if s.takesAll() {
		return elems
	}
	return elems[:within(elems, elems, s.low, s.span)]
}

// fewestSampled is the least sample by which elements are left out that there is room for.
const fewestSampled = 1 << 8

// begin estimates how many elements there will be in a chunk with a pool of so many bytes. It does nothing on nil.
func (s *selection[E]) begin(in *intake, sizes *sizes, touch *touching, pool int, fromPrefix func(uint64) E) {
	if s == nil {
		return
	}
	in.reading = &reading{}
	s.in, s.touch, s.expected, s.bytes = in, touch, float64(in.expected), float64(pool)/float64(sizes.records)
	if sampled, ok := in.src.(device.Sampled); ok {
		prefixes := sampled.Sample()
		for _, p := range prefixes {
			if e := fromPrefix(p); e-s.low <= s.span {
				s.sample = append(s.sample, e)
			}
		}
		slices.Sort(s.sample)
		if len(s.sample) >= fewestSampled {
			s.expected = float64(in.src.Records()) * float64(len(s.sample)) / float64(len(prefixes))
		}
	}
	in.expected = min(in.expected, int64(s.expected))
}

// cutFrom prepares a sample to cut buckets by, and their range: what of both is selected. The sample stays as it is: it may be the
// source's own.
func (s *selection[E]) cutFrom(sample []E) (selected []E, low, high E) {
	least, greatest := s.bounds()
	if !s.takesAll() {
		sample = s.within(slices.Clone(sample))
	}
	if len(sample) == 0 {
		return nil, least, greatest
	}
	low, high = minMax(sample)
	low, high = widen(low, high, len(sample))
	return sample, max(low, least), min(high, greatest)
}

// interrupted reports whether the workers are to stop until more has been left out. It is false on nil.
func (s *selection[E]) interrupted() bool { return s != nil && s.interrupt.Load() }

// judge looks now and then at what it costs to touch more memory. It does nothing on nil.
func (s *selection[E]) judge() {
	if s == nil || len(s.sample) < fewestSampled || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	all := s.in.src.Records()
	read := s.in.reading.pace(all / startOf)
	if read == 0 || s.share > 0 {
		return
	}
	pace, touched := s.touch.pace()
	if pace == 0 {
		return
	}
	share := s.shareOf(costs{
		touch:   pace,
		again:   (read + selectSeconds*1e9) * float64(all),
		memory:  s.expected * s.bytes,
		touched: float64(touched),
		moved:   float64(s.in.loaded.Load()) * moveNanos,
	})
	if share < 1 {
		s.share = share
		s.interrupt.Store(true)
	}
}

// startOf is the part of a source that tells nothing of the rest: the workers' own memory is touched for it.
const startOf = 64

// dropper is a worker's share of all buckets.
type dropper interface {
	sizeOf(bucket int) int64                    // the elements of a bucket that take room
	countedIn(bucket int) int64                 // those that take none
	roomless() int64                            // the elements that took none since it was last asked
	dropFrom(bucket int) (elements, room int64) // empties the buckets from one on; room: of those elements that took any
}

// leaveOutMore drops the buckets with the greatest elements and leaves those out from now on, if that is worth it or there is no room
// for them. It reports whether there is more to read. REQUIRES: no worker adds to buckets. It does nothing on nil.
func (s *selection[E]) leaveOutMore(b *buckets[E], workers []dropper) (more bool, err error) {
	if s == nil || s.in.reading.records.Load() >= s.in.src.Records() {
		return false, nil
	}
	for _, w := range workers {
		s.in.room.Add(w.roomless())
	}
	cut := 0
	if s.interrupted() {
		s.interrupt.Store(false)
		cut = b.of(s.sample[min(int(s.share*float64(len(s.sample))), len(s.sample)-1)])
	} else if cut = cutOfRoom(b.count(), workers); cut == 0 {
		return false, device.ErrTooMany
	}
	if cut == 0 {
		return true, nil // nearly all are in one bucket
	}
	_, last := b.bounds(cut - 1)
	if last >= s.high() {
		return true, nil // more was dropped before, as there was no room
	}
	for _, w := range workers {
		elements, room := w.dropFrom(cut)
		s.in.loaded.Add(-elements)
		s.in.room.Add(room)
	}
	s.span = last - s.low
	return true, nil
}

// cutOfRoom is the bucket from which on to drop, so that three quarters of what takes room are left, or as little as can be, but not
// nothing; 0: all is in one bucket.
func cutOfRoom(buckets int, workers []dropper) int {
	sizes, counted := make([]int64, buckets), make([]int64, buckets)
	all := int64(0)
	for bucket := range buckets {
		for _, w := range workers {
			sizes[bucket] += w.sizeOf(bucket)
			counted[bucket] += w.countedIn(bucket)
		}
		all += sizes[bucket]
	}
	room, elements := int64(0), int64(0) // of the buckets before
	for bucket, size := range sizes {
		if elements > 0 && size > 0 && 4*(room+size) > 3*all {
			return bucket
		}
		room += size
		elements += size + counted[bucket]
	}
	return 0
}

// withinLoop copies the elements of a that are from low to low+span to dst, which may be a, and returns their number. REQUIRES:
// dst is as long as a.
func withinLoop[E element](dst, a []E, low, span E) int {
	kept := 0
	for _, e := range a {
		dst[kept] = e
		if e-low <= span {
			kept++
		}
	}
	return kept
}

// withinBoth is within of keys, which takes words along.
func withinBoth[E element, R carried](keys []E, words []R, low, span E) int {
	kept := 0
	words = words[:len(keys)]
	for i, key := range keys {
		keys[kept], words[kept] = key, words[i]
		if key-low <= span {
			kept++
		}
	}
	return kept
}
