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

// Requests manages the memory of the requests that read inputs ahead if the page cache does not:
// for remote inputs, and for direct I/O. All inputs of a run share it.
type Requests struct {
	mu          sync.Mutex
	bytes       int64 // size of one request
	free        int   // number of requests that may still be made
	most        int
	prefetchers map[*spill.Prefetcher]bool
	buffers     []*arena.Memory // buffers of completed requests, kept while there are prefetchers
	queue       *spill.Queue    // provides the memory instead; nil if none exists
}

const (
	// With less memory than plan.RemoteRequests need, requests first become smaller and then
	// fewer.
	minRequestBytes = 256 << 10

	// openBytes may be read ahead before there is a plan.
	openBytes = 1 << 20
)

func newRequests() *Requests {
	r := &Requests{prefetchers: map[*spill.Prefetcher]bool{}}
	r.Allow(openBytes)
	return r
}

// Allow divides the given memory into requests. Requests in progress keep their memory. r may be
// nil.
func (r *Requests) Allow(bytes int64) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()

	r.bytes = max(min(bytes/plan.RemoteRequests, plan.RemoteRequestBytes), minRequestBytes)
	most := int(min(bytes/r.bytes, plan.RemoteRequests))
	r.free = r.free + most - r.most
	r.most = most
	r.freeBuffers()
}

// take returns memory for a request and a function that gives it back. It returns nil if there is
// none, or if w already has its share of the requests.
func (r *Requests) take(w *spill.Prefetcher, has int) (memory []byte, give func()) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.prefetchers[w] = true

	switch {
	case has >= max(1, r.most/len(r.prefetchers)):
		return nil, nil
	case r.queue != nil:
		return r.queue.TakeAhead()
	case r.free <= 0:
		return nil, nil
	}

	buffer := (*arena.Memory)(nil)
	err := error(nil)
	if last := len(r.buffers) - 1; last >= 0 {
		buffer = r.buffers[last]
		r.buffers = r.buffers[:last]
	} else if buffer, err = arena.Alloc(int(r.bytes)); err != nil {
		return nil, nil
	}

	r.free--
	return buffer.Bytes(), func() { r.give(buffer) }
}

// give keeps a buffer for the next request or frees it.
func (r *Requests) give(buffer *arena.Memory) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free++
	if len(r.prefetchers) > 0 && int64(len(buffer.Bytes())) == r.bytes {
		r.buffers = append(r.buffers, buffer)
	} else {
		buffer.Free()
	}
}

// Lend reports whether memory of the given size is available for another purpose, which is the
// case while nothing is prefetched. The memory counts as used until Return. If r is nil, Lend
// returns false. REQUIRES: Allow is not called in the meantime
func (r *Requests) Lend(bytes int64) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()

	n := r.requestsIn(bytes)
	if len(r.prefetchers) > 0 || n > r.free {
		return false
	}
	r.free -= n
	return true
}

// Return ends a loan of Lend.
func (r *Requests) Return(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += r.requestsIn(bytes)
}

func (r *Requests) requestsIn(bytes int64) int {
	return int((bytes + r.bytes - 1) / r.bytes)
}

// freeBuffers frees the unused buffers. REQUIRES: r.mu is held
func (r *Requests) freeBuffers() {
	for _, buffer := range r.buffers {
		buffer.Free()
	}
	r.buffers = nil
}

// join gives a prefetcher a share of the requests before it takes its first one. r may be nil.
func (r *Requests) join(w *spill.Prefetcher) {
	if r == nil || w.Units == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prefetchers[w] = true
}

// leave removes the share of a prefetcher.
func (r *Requests) leave(w *spill.Prefetcher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.prefetchers, w); len(r.prefetchers) == 0 {
		r.freeBuffers()
	}
}

// giveUp ends all prefetchers and gives back their memory. r may be nil.
func (r *Requests) giveUp() {
	if r == nil {
		return
	}
	r.mu.Lock()
	all := slices.Collect(maps.Keys(r.prefetchers))
	r.mu.Unlock()
	for _, w := range all {
		w.GiveUp()
	}
}

// prefetcher returns a Prefetcher of records. read fills p with the records from index first on.
func (r *Requests) prefetcher(
	size int, records int64, read func(p []byte, first int64) error,
) *spill.Prefetcher {
	w := &spill.Prefetcher{
		Units:     records,
		UnitBytes: int64(size),
		Queue:     r.queue,
		Now:       read,
	}
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

// sequenceAhead reads bytes sequentially and prefetches them.
type sequenceAhead struct {
	*io.SectionReader
	by bytesAhead
}

func newSequenceAhead(from *Requests, r io.ReaderAt, base, bytes int64) *sequenceAhead {
	by := bytesAhead{from.prefetcher(1, bytes, func(p []byte, first int64) error {
		_, err := r.ReadAt(p, base+first)
		return err
	})}
	return &sequenceAhead{io.NewSectionReader(by, 0, bytes), by}
}

// bytesAhead is a prefetcher of bytes.
type bytesAhead struct{ *spill.Prefetcher }

func (b bytesAhead) ReadAt(p []byte, off int64) (int, error) {
	if err := b.Read(p, off, off+int64(len(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close gives up the bytes that were not read.
func (s *sequenceAhead) Close() error {
	s.by.GiveUp()
	return nil
}

// Ahead returns a sequential reader of a remote file that makes several requests in parallel,
// using up to memoryBytes of memory.
func Ahead(r io.ReaderAt, bytes, memoryBytes int64) io.ReadCloser {
	requests := newRequests()
	requests.Allow(memoryBytes)
	return newSequenceAhead(requests, r, 0, bytes)
}
