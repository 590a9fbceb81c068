//go:build opencl && cgo && linux

package opencl

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// deviceMemory contains the buffers of a chunk on the device.
type deviceMemory struct {
	allocator
	data     algo.Data    // words and indexes, two buffers each
	segments []*cl.Buffer // records
	shift    int          // log2 of the records per segment
	table    *cl.Buffer   // describes the bytes of the key, see records.cl
	bits     *cl.Buffer   // result of survey: 16 bytes for each word
	stage    []*cl.Buffer // pieces of gathered records, about to be downloaded
}

// allocate allocates all buffers for the records. stageBytes is the size of a gathered piece.
func (m *deviceMemory) allocate(
	s *session,
	sh shape,
	records, allocBytes, stageBytes int64,
) error {
	if m.shift = sh.segmentShift(allocBytes); !sh.isBare &&
		records > maxSegments<<m.shift {
		return fmt.Errorf("%w: %d records need more than %d allocations of %d bytes",
			ErrAllocation, records, maxSegments, allocBytes)
	}
	m.ctx = s.ctx
	m.bits = m.buffer(16 * int64(len(sh.words())))
	m.data = algo.Data{
		N:         records,
		KeyBits:   8 * sh.wordWidth(),
		WordBytes: sh.wordWidth(),
	}
	m.data.Keys, m.data.KeysTmp = m.buffer(
		records*int64(sh.wordWidth()),
	), m.buffer(records*int64(sh.wordWidth()))
	if sh.isBare {
		return m.err
	}
	m.data.Values, m.data.ValuesTmp = m.buffer(4*records), m.buffer(4*records)
	for left := max(records, 1); left > 0; left -= 1 << m.shift {
		m.segments = append(
			m.segments, m.buffer(min(left, 1<<m.shift)*int64(sh.recordBytes)),
		)
	}
	for range stages {
		m.stage = append(m.stage, m.buffer(stageBytes))
	}
	table, _ := binary.Append(nil, binary.NativeEndian, keyTable(sh.layout))
	m.table = m.buffer(int64(len(table)))
	if m.err != nil {
		return m.err
	}
	return s.admin.Upload(m.table, table)
}

// allocator allocates buffers until one fails, and frees them.
type allocator struct {
	ctx  *cl.Context
	made []*cl.Buffer
	err  error
}

func (a *allocator) buffer(bytes int64) *cl.Buffer {
	if a.err != nil {
		return nil
	}
	b, err := a.ctx.NewBuffer(bytes)
	a.made = append(a.made, b)
	a.err = err
	return b
}

func (a *allocator) release() {
	for _, b := range a.made {
		b.Release()
	}
	*a = allocator{}
}

// pointers returns the first arguments of the kernels in records.cl: the segments, padded with
// copies of the last one.
func (m *deviceMemory) pointers(rest ...any) []any {
	args := make([]any, 0, maxSegments+len(rest))
	for i := range maxSegments {
		args = append(args, m.segments[min(i, len(m.segments)-1)])
	}
	return append(args, rest...)
}

// A slot is one pinned staging buffer of a ring.
type slot struct {
	*cl.Pinned
	lastTransfer *cl.Event // the last transfer that uses the slot
}

// ring provides staging slots. It pins a new slot only if all others are in use, so a small chunk
// pins little memory. Slots are reused oldest first, because transfers end in order.
type ring struct {
	session   *session
	slotBytes int
	free      chan *slot
	unpinned  chan *slot
}

func newRing(s *session, slotBytes, slots int) *ring {
	r := &ring{
		session:   s,
		slotBytes: slotBytes,
		free:      make(chan *slot, slots),
		unpinned:  make(chan *slot, slots),
	}
	for range slots {
		r.unpinned <- &slot{}
	}
	return r
}

// takeSlot returns a slot after waiting until no transfer uses it.
func (r *ring) takeSlot(ctx context.Context) (*slot, error) {
	s, err := r.nextSlot(ctx)
	if err != nil {
		return nil, err
	}
	err = cl.Wait(s.lastTransfer)
	s.lastTransfer = nil
	if err != nil {
		r.returnSlot(s)
		return nil, err
	}
	return s, nil
}

func (r *ring) nextSlot(ctx context.Context) (s *slot, err error) {
	if err := context.Cause(ctx); err != nil {
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
		return nil, context.Cause(ctx)
	}
	if s.Pinned, err = r.session.ctx.NewPinned(r.session.admin, r.slotBytes); err != nil {
		r.unpinned <- s
		return nil, err
	}
	return s, nil
}

// returnSlot returns a slot to the ring. The transfer s.busy may still use it.
func (r *ring) returnSlot(s *slot) { r.free <- s }

// release unpins all slots. It may be called on nil. REQUIRES: no slot is taken, and no transfer
// is running.
func (r *ring) release() {
	for r != nil && len(r.free) > 0 {
		(<-r.free).Release()
	}
}
