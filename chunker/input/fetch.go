package input

import (
	"io"
	"slices"
	"sync"

	"github.com/extsort/extsort/chunker/plan"
)

// Requests is the memory of the requests by which remote inputs are read ahead: no page cache holds them. All inputs
// of a run share it.
type Requests struct {
	mu       sync.Mutex
	bytes    int64 // of one request
	free     int   // requests that may still be made
	most     int
	fetchers int      // that share them
	buffers  [][]byte // of requests that are over
}

const (
	// With less memory than plan.RemoteRequests need, they get smaller, and then fewer.
	minRequestBytes = 256 << 10

	// openBytes may be read ahead before a plan says how much.
	openBytes = 1 << 20
)

func newRequests() *Requests {
	r := new(Requests)
	r.allow(openBytes)
	return r
}

// allow divides memory into requests. Those that are under way keep theirs.
func (r *Requests) allow(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes = max(min(bytes/plan.RemoteRequests, plan.RemoteRequestBytes), minRequestBytes)
	most := int(min(bytes/r.bytes, plan.RemoteRequests))
	r.free, r.most, r.buffers = r.free+most-r.most, most, nil
}

// take gives the memory of a request; nil: there is none for a fetcher that has so many already.
func (r *Requests) take(has int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free <= 0 || has >= max(1, r.most/max(r.fetchers, 1)) {
		return nil
	}
	r.free--
	if last := len(r.buffers) - 1; last >= 0 {
		buffer := r.buffers[last]
		r.buffers = r.buffers[:last]
		return buffer
	}
	return make([]byte, r.bytes)
}

func (r *Requests) give(buffer []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free++
	if int64(len(buffer)) == r.bytes {
		r.buffers = append(r.buffers, buffer)
	}
}

// share counts a fetcher more or less.
func (r *Requests) share(fetchers int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fetchers += fetchers
}

// fetcher reads records ahead of its readers, which read about in order, and each record once. What it has no memory
// for is read when it is asked for.
type fetcher struct {
	from    *Requests
	size    int64 // of a record
	records int64
	read    func(p []byte, first int64) error

	mu     sync.Mutex
	begun  bool
	next   int64    // first record that was not fetched, nor read by a reader
	left   int64    // records that no reader has
	pieces []*piece // that were fetched and not read to their end, in order
}

// piece is records that one request fetches.
type piece struct {
	first, records int64
	left           int64  // that no reader has
	buffer         []byte // that they are in
	done           chan struct{}
	err            error
}

func newFetcher(from *Requests, size int, records int64, read func(p []byte, first int64) error) *fetcher {
	return &fetcher{from: from, size: int64(size), records: records, left: records, read: read}
}

// ReadRecords fills p with the records from index first on.
func (f *fetcher) ReadRecords(p []byte, first int64) error {
	for end := first + int64(len(p))/f.size; first < end; {
		from, n := f.find(first, end)
		part := p[:n*f.size]
		if err := f.fill(part, first, from); err != nil {
			return err
		}
		f.release(from, n)
		p, first = p[len(part):], first+n
	}
	return nil
}

// fill takes records from a piece, or reads them; nil: no piece has them.
func (f *fetcher) fill(p []byte, first int64, from *piece) error {
	if from == nil {
		return f.read(p, first)
	}
	<-from.done
	if from.err == nil {
		copy(p, from.buffer[(first-from.first)*f.size:])
	}
	return from.err
}

// find fetches ahead, and finds the piece that has a record; nil: none has. That is so for the first n of the records
// up to end.
func (f *fetcher) find(first, end int64) (from *piece, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead()
	f.next = max(f.next, end)
	for _, p := range f.pieces {
		switch {
		case p.first > first:
			return nil, min(p.first, end) - first
		case first < p.first+p.records:
			return p, min(p.first+p.records, end) - first
		}
	}
	return nil, end - first
}

// Ahead fetches what there is memory for.
func (f *fetcher) Ahead() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead()
}

// ahead is Ahead. REQUIRES: f.mu is held.
func (f *fetcher) ahead() {
	if !f.begun {
		f.begun = true
		f.from.share(1)
	}
	for f.next < f.records {
		buffer := f.from.take(len(f.pieces))
		n := min(int64(len(buffer))/f.size, f.records-f.next)
		if n == 0 {
			if buffer != nil { // a record is larger than a request
				f.from.give(buffer)
			}
			return
		}
		p := &piece{first: f.next, records: n, left: n, buffer: buffer, done: make(chan struct{})}
		f.pieces, f.next = append(f.pieces, p), f.next+n
		go func() {
			defer close(p.done)
			p.err = f.read(p.buffer[:n*f.size], p.first)
		}()
	}
}

// release notes that n records have been read, from a piece or without one.
func (f *fetcher) release(from *piece, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left -= n; f.left == 0 {
		f.from.share(-1)
	}
	if i := slices.Index(f.pieces, from); i >= 0 {
		if from.left -= n; from.left == 0 {
			f.pieces = slices.Delete(f.pieces, i, i+1)
			f.from.give(from.buffer)
		}
	}
}

// giveUp gives back what nobody will read any more.
func (f *fetcher) giveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pieces {
		go func() { // the request is under way, and has its memory until it has an answer
			<-p.done
			f.from.give(nil)
		}()
	}
	if f.begun && f.left > 0 {
		f.from.share(-1)
	}
	f.pieces, f.next, f.left = nil, f.records, 0
}

// sequenceAhead is bytes that are read in order, and fetched ahead.
type sequenceAhead struct {
	*fetcher
	at int64
}

func newSequenceAhead(from *Requests, r io.ReaderAt, base, bytes int64) *sequenceAhead {
	return &sequenceAhead{fetcher: newFetcher(from, 1, bytes, func(p []byte, first int64) error {
		_, err := r.ReadAt(p, base+first)
		return err
	})}
}

// Ahead reads what is remote in order, by requests of which several are under way and have so much memory.
func Ahead(r io.ReaderAt, bytes, memoryBytes int64) io.Reader {
	requests := newRequests()
	requests.allow(memoryBytes)
	return newSequenceAhead(requests, r, 0, bytes)
}

func (s *sequenceAhead) Read(p []byte) (int, error) {
	n := min(int64(len(p)), s.records-s.at)
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	err := s.ReadRecords(p[:n], s.at)
	if err != nil {
		return 0, err
	}
	s.at += n
	return int(n), nil
}
