package cpu

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
)

// outlet is where one worker writes to. Records go out from the worker's scratch; or, if the writer takes memory over,
// from extents that have been drained, which are neither touched for the first time nor copied again.
type outlet struct {
	to     device.BlockWriter
	taker  device.Taker    // to, or nil: it takes nothing over
	late   context.Context // of what the taker writes later
	spent  *spent
	owed   int     // bytes written without giving as many back
	extent *extent // nil: none yet
}

// extent is a stretch of spent memory of which the bytes before from have been given to a writer. It goes back to the system
// when nobody holds it any more: the outlet, and each block that has not been written.
type extent struct {
	stretch
	holders atomic.Int32
}

// room is memory for the next records, for at least one of size bytes; REQUIRES: scratch is. owned says that it is of an
// extent, which write gives away.
func (o *outlet) room(scratch []byte, size int) (dst []byte, owned bool) {
	if o.taker == nil || !o.taker.Takes() {
		return scratch, false
	}
	if o.extent == nil || o.extent.bytes() < size {
		o.close()
		if s, ok := o.spent.take(); ok {
			o.extent = &extent{stretch: s}
			o.extent.holders.Add(1)
		}
	}
	if o.extent == nil || o.extent.bytes() < size {
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
	e := o.extent
	e.from += len(recs)
	e.holders.Add(1)
	o.spent.unwritten.Add(1)
	written := func(err error) {
		o.spent.release(e)
		o.spent.note(err)
		o.spent.unwritten.Done()
	}
	err := o.taker.TakeBlock(o.late, first, recs, written)
	if err != nil {
		written(err)
	}
	return err
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

// close gives the extent back.
func (o *outlet) close() {
	if o.extent != nil {
		o.spent.release(o.extent)
	}
	o.extent = nil
}

// stretch is a part of an arena, in bytes from its start.
type stretch struct{ start, from, to int }

func (s stretch) bytes() int { return s.to - s.from }

// spent is the memory of zones whose records have all been stored. What is left of it when a writer has taken it over
// goes back to the system, and nothing is written to it again: the writer's reader may not have seen it yet.
type spent struct {
	memory *arena.Memory

	unwritten sync.WaitGroup // blocks of it that a writer has taken over

	mu      sync.Mutex
	extents []stretch
	failed  error // of the first of those that was not written
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

// release ends one hold of an extent.
func (s *spent) release(e *extent) {
	if e.holders.Add(-1) == 0 {
		s.discard(e.stretch)
	}
}

// note remembers the first error.
func (s *spent) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

// close waits until all blocks have been written, and gives back what nobody took.
func (s *spent) close() error {
	s.unwritten.Wait()
	for extent, ok := s.take(); ok; extent, ok = s.take() {
		s.discard(extent)
	}
	return s.failed
}

// moved puts recs at the start of dst, where they may be already.
func moved(dst, recs []byte) []byte {
	if unsafe.SliceData(dst) != unsafe.SliceData(recs) {
		copy(dst, recs)
	}
	return dst[:len(recs)]
}
