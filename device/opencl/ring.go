//go:build opencl && cgo && linux

package opencl

import (
	"context"

	"github.com/extsort/extsort/device/opencl/cl"
)

// slot is one pinned staging buffer of a ring.
type slot struct {
	*cl.Pinned
	busy *cl.Event // the transfer that still uses it
}

// ring hands out staging slots. They are pinned one by one, only when all those there are in use, so that a small
// chunk pins little; and they are given back oldest first, because transfers end in order.
type ring struct {
	session   *session
	slotBytes int
	free      chan *slot
	unpinned  chan *slot
}

func newRing(s *session, slotBytes, slots int) *ring {
	r := &ring{session: s, slotBytes: slotBytes, free: make(chan *slot, slots), unpinned: make(chan *slot, slots)}
	for range slots {
		r.unpinned <- &slot{}
	}
	return r
}

// take waits for a slot that no transfer uses.
func (r *ring) take(ctx context.Context) (*slot, error) {
	s, err := r.next(ctx)
	if err != nil {
		return nil, err
	}
	err = cl.Wait(s.busy)
	s.busy = nil
	if err != nil {
		r.give(s)
		return nil, err
	}
	return s, nil
}

func (r *ring) next(ctx context.Context) (s *slot, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case s = <-r.free:
		return s, nil
	default:
	}
	select {
	case s = <-r.free:
		return s, nil
	case s = <-r.unpinned:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.Pinned, err = r.session.ctx.NewPinned(r.session.admin, r.slotBytes); err != nil {
		r.unpinned <- s
		return nil, err
	}
	return s, nil
}

// give puts a slot back; a transfer that s.busy stands for may still use it.
func (r *ring) give(s *slot) { r.free <- s }

// release unpins all slots; a nil ring has none. REQUIRES: all are back and no transfer is under way.
func (r *ring) release() {
	for r != nil && len(r.free) > 0 {
		(<-r.free).Release()
	}
}
