package input

import (
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device/arena"
)

// Requests is the memory of the requests by which inputs are read ahead that no page cache holds: remote ones, or those
// that go past it. All inputs of a run share it.
type Requests struct {
	mu      sync.Mutex
	bytes   int64 // of one request
	free    int   // requests that may still be made
	most    int
	windows map[*spill.Window]bool
	buffers []*arena.Memory // of requests that are over, as long as there are windows
	queue   *spill.Queue    // that has the memory; nil: it has none
}

const (
	// With less memory than plan.RemoteRequests need, they get smaller, and then fewer.
	minRequestBytes = 256 << 10

	// openBytes may be read ahead before a plan says how much.
	openBytes = 1 << 20
)

func newRequests() *Requests {
	r := &Requests{windows: map[*spill.Window]bool{}}
	r.Allow(openBytes)
	return r
}

// Allow divides memory into requests. Those that are under way keep theirs. It does nothing on nil.
func (r *Requests) Allow(bytes int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes = max(min(bytes/plan.RemoteRequests, plan.RemoteRequestBytes), minRequestBytes)
	most := int(min(bytes/r.bytes, plan.RemoteRequests))
	r.free, r.most = r.free+most-r.most, most
	r.freeBuffers()
}

// take gives the memory of a request, and what gives it back; nil: a window that has so many already gets none.
func (r *Requests) take(w *spill.Window, has int) (memory []byte, give func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.windows[w] = true
	switch {
	case has >= max(1, r.most/len(r.windows)):
		return nil, nil
	case r.queue != nil:
		return r.queue.TakeAhead()
	case r.free <= 0:
		return nil, nil
	}
	buffer, err := (*arena.Memory)(nil), error(nil)
	if last := len(r.buffers) - 1; last >= 0 {
		buffer, r.buffers = r.buffers[last], r.buffers[:last]
	} else if buffer, err = arena.Alloc(int(r.bytes)); err != nil {
		return nil, nil
	}
	r.free--
	return buffer.Bytes(), func() { r.give(buffer) }
}

// give keeps a buffer for the next request, or frees it.
func (r *Requests) give(buffer *arena.Memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free++
	if len(r.windows) > 0 && int64(len(buffer.Bytes())) == r.bytes {
		r.buffers = append(r.buffers, buffer)
	} else {
		buffer.Free()
	}
}

// Lend reports whether there is memory for somebody else: as long as nobody fetches there is. It counts as that of
// requests until Return. On nil there is none. REQUIRES: Allow is not called in between.
func (r *Requests) Lend(bytes int64) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.requestsIn(bytes)
	if len(r.windows) > 0 || n > r.free {
		return false
	}
	r.free -= n
	return true
}

// Return gives back what Lend has given.
func (r *Requests) Return(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += r.requestsIn(bytes)
}

func (r *Requests) requestsIn(bytes int64) int { return int((bytes + r.bytes - 1) / r.bytes) }

// freeBuffers frees what nobody uses. REQUIRES: r.mu is held.
func (r *Requests) freeBuffers() {
	for _, buffer := range r.buffers {
		buffer.Free()
	}
	r.buffers = nil
}

// join has a window get its share of the requests from now on, before it takes one. It does nothing on nil.
func (r *Requests) join(w *spill.Window) {
	if r == nil || w.Units == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.windows[w] = true
}

// leave has a window share the requests no more.
func (r *Requests) leave(w *spill.Window) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.windows, w); len(r.windows) == 0 {
		r.freeBuffers()
	}
}

// giveUp gives back what was fetched and nobody will read any more. It does nothing on nil.
func (r *Requests) giveUp() {
	if r == nil {
		return
	}
	r.mu.Lock()
	all := slices.Collect(maps.Keys(r.windows))
	r.mu.Unlock()
	for _, w := range all {
		w.GiveUp()
	}
}

// window reads records ahead, which read gives from any index on.
func (r *Requests) window(size int, records int64, read func(p []byte, first int64) error) *spill.Window {
	w := &spill.Window{Units: records, UnitBytes: int64(size), Queue: r.queue, Now: read}
	w.Take = func(has int) ([]byte, func()) { return r.take(w, has) }
	w.Leave = func() { r.leave(w) }
	w.Request = func(memory []byte, first, most int64) (int64, func() ([]byte, error)) {
		n := min(int64(len(memory)/size), most)
		if n == 0 { // a record is larger than a request
			return most, nil
		}
		recs := memory[:n*int64(size)]
		return n, func() ([]byte, error) { return recs, read(recs, first) }
	}
	return w
}

// sequenceAhead is bytes that are read in order, and fetched ahead.
type sequenceAhead struct {
	*io.SectionReader
	by bytesAhead
}

func newSequenceAhead(from *Requests, r io.ReaderAt, base, bytes int64) *sequenceAhead {
	by := bytesAhead{from.window(1, bytes, func(p []byte, first int64) error {
		_, err := r.ReadAt(p, base+first)
		return err
	})}
	return &sequenceAhead{io.NewSectionReader(by, 0, bytes), by}
}

// bytesAhead is a window of bytes.
type bytesAhead struct{ *spill.Window }

func (b bytesAhead) ReadAt(p []byte, off int64) (int, error) {
	if err := b.Read(p, off, off+int64(len(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close gives up what was not read.
func (s *sequenceAhead) Close() error {
	s.by.GiveUp()
	return nil
}

// Ahead reads what is remote in order, by requests of which several are under way and have so much memory.
func Ahead(r io.ReaderAt, bytes, memoryBytes int64) io.ReadCloser {
	requests := newRequests()
	requests.Allow(memoryBytes)
	return newSequenceAhead(requests, r, 0, bytes)
}
