package cpu

import (
	"context"
	"sync"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
)

// outlet is where one worker writes to. Records go out from the worker's scratch; or, if the writer takes memory over,
// from extents that have been drained, which are neither touched for the first time nor copied again.
type outlet struct {
	to     device.BlockWriter
	taker  device.Taker // to, or nil: it takes nothing over
	spent  *spent
	owed   int     // bytes written without giving as many back
	extent stretch // of which the bytes before from have been taken over
}

// room is memory for the next records, for at least one of size bytes; REQUIRES: scratch is. owned says that it is of an
// extent, which write gives away.
func (o *outlet) room(scratch []byte, size int) (dst []byte, owned bool) {
	if o.taker == nil || !o.taker.Takes() {
		return scratch, false
	}
	if o.extent.bytes() < size {
		o.close()
		o.extent, _ = o.spent.take()
	}
	if o.extent.bytes() < size {
		return scratch, false
	}
	end := min(o.extent.to, o.extent.from+max(takeBytes, size))
	return o.spent.memory.Bytes()[o.extent.from:end], true
}

// takeBytes is how much is put into memory that a writer takes over before it gets it: a pipe's reader then finds it in
// the cache.
const takeBytes = 128 << 10

// write writes recs, which begin where room said if they are owned.
func (o *outlet) write(ctx context.Context, first int64, recs []byte, owned bool) error {
	if !owned {
		o.makeRoom(len(recs))
		return o.to.WriteBlock(ctx, first, recs)
	}
	o.extent.from += len(recs)
	return o.taker.TakeBlock(ctx, first, recs)
}

// makeRoom gives as much memory back to the system as will be written, right before that: the processor that frees a huge
// page gets the same one again if it asks for one soon. Freed all at once, the extents of a zone join to larger pages, and
// the system prefers others to these.
func (o *outlet) makeRoom(bytes int) {
	if o.taker != nil || o.spent == nil {
		return
	}
	for o.owed += bytes; o.owed >= extentBytes; o.owed -= extentBytes {
		extent, ok := o.spent.take()
		if !ok {
			o.owed = 0
			return
		}
		o.spent.discard(extent)
	}
}

// close gives the extent back to the system.
func (o *outlet) close() {
	if o.taker != nil {
		o.spent.discard(o.extent)
	}
	o.extent = stretch{}
}

// stretch is a part of an arena, in bytes from its start.
type stretch struct{ start, from, to int }

func (s stretch) bytes() int { return s.to - s.from }

// spent is the memory of zones whose records have all been stored. What is left of it when a writer has taken it over
// goes back to the system, and nothing is written to it again: the writer's reader may not have seen it yet.
type spent struct {
	memory *arena.Memory

	mu      sync.Mutex
	extents []stretch
}

func (s *spent) add(extents []stretch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extents = append(s.extents, extents...)
}

func (s *spent) take() (stretch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.extents) - 1
	if last < 0 {
		return stretch{}, false
	}
	extent := s.extents[last]
	s.extents = s.extents[:last]
	return extent, true
}

func (s *spent) discard(extent stretch) { s.memory.Discard(extent.start, extent.to) }

// close gives back what nobody took.
func (s *spent) close() {
	for extent, ok := s.take(); ok; extent, ok = s.take() {
		s.discard(extent)
	}
}

// moved puts recs at the start of dst, where they may be already.
func moved(dst, recs []byte) []byte {
	if unsafe.SliceData(dst) != unsafe.SliceData(recs) {
		copy(dst, recs)
	}
	return dst[:len(recs)]
}
