package cpu

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/device"
)

// keyChunk is a chunk of bare keys: elements are whole records, which can be left out by their values, and stand in any order among
// equals.
type keyChunk[E element] struct{ *chunk[E] }

func newKeyChunk[E element](opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	made, err := newChunk(opt, s, newKeys[E](opt.Keyer))
	if err != nil {
		return nil, err
	}
	made.pool.touch = &touching{}
	return keyChunk[E]{made}, nil
}

// Select implements device.Selector. Buckets are cut for all of the range, and those with the greatest keys are dropped, with what
// they hold by then, when more is to be left out.
func (c keyChunk[E]) Select(ctx context.Context, src device.Source, low, high uint64) (records int64, last uint64, err error) {
	s := &selection[E]{low: E(low), span: E(high - low), shareOf: shareWorth}
	records, err = c.load(ctx, src, s)
	if s.high() == E(high) {
		return records, high, err
	}
	return records, uint64(s.high()), err
}

// selection is what a Load takes of its source, the elements from low to low+span, and how it comes to take less.
type selection[E element] struct {
	low, span E
	shareOf   func(costs) float64

	of       *loading[E]
	sample   []E     // of the elements from low to low+span, in order
	expected float64 // elements from low to low+span

	interrupt atomic.Bool // workers are to stop, as it is worth to leave more out
	mu        sync.Mutex  // protects the following
	share     float64     // of the elements from low to low+span that is to be loaded; 0: all of them
}

func (s *selection[E]) high() E { return s.low + s.span }

// within leaves out what of elems is not selected, in place.
func (s *selection[E]) within(elems []E) []E { return elems[:within(elems, elems, s.low, s.span)] }

// fewestSampled is the least sample by which elements are left out that there is room for.
const fewestSampled = 1 << 8

// begin estimates how many elements there will be.
func (s *selection[E]) begin(l *loading[E]) {
	s.of, l.reading = l, &reading{}
	all := l.src.Records()
	s.expected = float64(l.expected)
	if sampled, ok := l.src.(device.Sampled); ok {
		prefixes := sampled.Sample()
		for _, p := range prefixes {
			if e := l.chunk.codec.fromPrefix(p); e-s.low <= s.span {
				s.sample = append(s.sample, e)
			}
		}
		slices.Sort(s.sample)
		if len(s.sample) >= fewestSampled {
			s.expected = float64(all) * float64(len(s.sample)) / float64(len(prefixes))
		}
	}
	l.expected = min(l.expected, int64(s.expected))
}

// interrupted reports whether the workers are to stop until more has been left out. It is false on nil.
func (s *selection[E]) interrupted() bool { return s != nil && s.interrupt.Load() }

// judge looks now and then at what it costs to touch more memory. It does nothing on nil.
func (s *selection[E]) judge() {
	if s == nil || len(s.sample) < fewestSampled || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	l := s.of
	read := l.reading.pace(l.src.Records() / startOf)
	if read == 0 || s.share > 0 {
		return
	}
	pace, touched := l.chunk.pool.touch.pace()
	if pace == 0 {
		return
	}
	records := float64(l.src.Records())
	share := s.shareOf(costs{
		touch:   pace,
		again:   (read + selectNanos) * records,
		memory:  s.expected / float64(l.chunk.sizes.records) * float64(len(l.chunk.pool.memory.Bytes())),
		touched: float64(touched),
		moved:   float64(l.loaded.Load()) * moveNanos,
	})
	if share < 1 {
		s.share = share
		s.interrupt.Store(true)
	}
}

// startOf is the part of a source that tells nothing of the rest: the workers' own memory is touched for it.
const startOf = 64

// costs are what it takes to go on, or not to, in nanoseconds of all workers together.
type costs struct {
	touch   float64 // a byte that is touched for the first time
	again   float64 // to read the source once more, and leave out what is not wanted
	memory  float64 // bytes that all of the elements take
	touched float64 // bytes that were touched by now
	moved   float64 // to move the elements that were loaded by now
}

// What it takes to leave a record out, and to move one to its bucket.
const (
	selectNanos = 0.3
	moveNanos   = 2.5
)

// mostPasses is how many passes are begun at most because memory is slow: more save less each.
const mostPasses = 8

// shareWorth is the share of the elements to load that takes the least time: each pass but the first reads the source again, but
// uses the memory of the first. It is 1 unless others save a good part of what is left to touch.
func shareWorth(c costs) float64 {
	best, least := 1.0, 0.7*c.touch*max(c.memory-c.touched, 0)
	for passes := 2.0; passes <= mostPasses; passes++ {
		share := min(max(1/passes, c.touched/c.memory), 1)
		cost := c.touch*max(share*c.memory-c.touched, 0) + (passes-1)*c.again + (1-share)*c.moved
		if cost < least {
			best, least = share, cost
		}
	}
	return best
}

// selected leaves out the elements that are not to be loaded.
func (l *loading[E]) selected(elems []E) []E {
	s := l.selection
	if s == nil || s.span == ^E(0) {
		return elems
	}
	kept := s.within(elems)
	l.leaveOut(int64(len(elems) - len(kept)))
	return kept
}

// leaveOutMore drops the buckets with the greatest elements and leaves those out from now on, if that is worth it or there is no
// room for them. It reports whether there is more to read. REQUIRES: the workers have settled.
func (l *loading[E]) leaveOutMore() (more bool, err error) {
	s := l.selection
	if s == nil || l.reading.records.Load() >= l.src.Records() {
		return false, nil
	}
	workers := l.chunk.workers[:l.workers]
	cut := 0
	if s.interrupted() {
		s.interrupt.Store(false)
		cut = l.buckets.of(s.sample[min(int(s.share*float64(len(s.sample))), len(s.sample)-1)])
	} else if cut = l.cutOfRoom(workers); cut == 0 {
		return false, device.ErrTooMany
	}
	if cut == 0 {
		return true, nil // nearly all are in one bucket
	}
	for _, w := range workers {
		l.leaveOut(w.scatter.dropFrom(cut))
	}
	_, last := l.buckets.bounds(cut - 1)
	s.span = last - s.low
	return true, nil
}

// cutOfRoom is the bucket from which on to drop, so that three quarters of what is loaded are left, or as little as can be; 0: all is in
// one bucket.
func (l *loading[E]) cutOfRoom(workers []*worker[E]) int {
	most := l.loaded.Load() * 3 / 4
	kept := int64(0)
	for bucket := range l.buckets.count() {
		size := int64(0)
		for _, w := range workers {
			size += w.scatter.sizeOf(bucket)
		}
		if kept > 0 && size > 0 && kept+size > most {
			return bucket
		}
		kept += size
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
