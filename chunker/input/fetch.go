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
	mu       sync.Mutex
	bytes    int64 // of one request
	free     int   // requests that may still be made
	most     int
	fetchers map[*fetcher]bool
	buffers  []*arena.Memory // of requests that are over, as long as there are fetchers
	queue    *spill.Queue    // that has the memory; nil: it has none
}

const (
	// With less memory than plan.RemoteRequests need, they get smaller, and then fewer.
	minRequestBytes = 256 << 10

	// openBytes may be read ahead before a plan says how much.
	openBytes = 1 << 20
)

func newRequests() *Requests {
	r := &Requests{fetchers: map[*fetcher]bool{}}
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

// take gives the memory of a request, and what gives it back; nil: a fetcher that has so many already gets none.
func (r *Requests) take(has int) (memory []byte, give func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case has >= max(1, r.most/max(len(r.fetchers), 1)):
		return nil, nil
	case r.queue != nil:
		memory = r.queue.TakeAhead()
		return memory, func() { r.queue.GiveAhead(memory) }
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
	if len(r.fetchers) > 0 && int64(len(buffer.Bytes())) == r.bytes {
		r.buffers = append(r.buffers, buffer)
	} else {
		buffer.Free()
	}
}

// do does a request while its caller goes on.
func (r *Requests) do(request func()) {
	if r.queue != nil {
		r.queue.Go(request)
	} else {
		go request()
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
	if len(r.fetchers) > 0 || n > r.free {
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

// leave has a fetcher share the requests no more.
func (r *Requests) leave(f *fetcher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.fetchers, f); len(r.fetchers) == 0 {
		r.freeBuffers()
	}
}

// giveUp gives back what was fetched and nobody will read any more. It does nothing on nil.
func (r *Requests) giveUp() {
	if r == nil {
		return
	}
	r.mu.Lock()
	all := slices.Collect(maps.Keys(r.fetchers))
	r.mu.Unlock()
	for _, f := range all {
		f.giveUp()
	}
}

// fetcher reads records ahead of its readers, which read about in order, and each record once. What it has no memory
// for is read when it is asked for.
type fetcher struct {
	from    *Requests
	size    int64 // of a record
	records int64
	read    func(p []byte, first int64) error
	request request

	mu     sync.Mutex
	next   int64    // first record that was not fetched, nor read by a reader
	left   int64    // records that no reader has
	pieces []*piece // that were fetched and not read to their end, in order
}

// request says how many records from one on, most of them at most, can be read into the memory of a request, and reads
// them: they lie in it where it tells.
type request func(memory []byte, first, most int64) (n int64, read func() (recs []byte, err error))

// piece is records that one request fetches.
type piece struct {
	first, records int64
	left           int64 // that no reader has
	recs           []byte
	give           func() // gives back the memory that they are in
	readers        int    // of that
	done           chan struct{}
	err            error
}

func newFetcher(from *Requests, size int, records int64, read func(p []byte, first int64) error) *fetcher {
	f := &fetcher{from: from, size: int64(size), records: records, left: records, read: read}
	f.request = func(memory []byte, first, most int64) (int64, func() ([]byte, error)) {
		n := min(int64(len(memory))/f.size, most)
		recs := memory[:n*f.size]
		return n, func() ([]byte, error) { return recs, read(recs, first) }
	}
	return f
}

// ReadRecords fills p with the records from index first on.
func (f *fetcher) ReadRecords(p []byte, first int64) error {
	for end := first + int64(len(p))/f.size; first < end; {
		from, n := f.find(first, end)
		part := p[:n*f.size]
		err := f.fill(part, first, from)
		f.release(from, n)
		if err != nil {
			return err
		}
		p, first = p[len(part):], first+n
	}
	return nil
}

// fill takes records from a piece, or reads them; nil: no piece has them.
func (f *fetcher) fill(p []byte, first int64, from *piece) error {
	if from == nil {
		return f.readNow(p, first)
	}
	<-from.done
	if from.err == nil {
		copy(p, from.recs[(first-from.first)*f.size:])
	}
	return from.err
}

// readNow reads records that nobody has fetched.
func (f *fetcher) readNow(p []byte, first int64) (err error) {
	if f.from.queue == nil {
		return f.read(p, first)
	}
	f.from.queue.Read(func(memory []byte) {
		for len(p) > 0 && err == nil {
			n, read := f.request(memory, first, int64(len(p))/f.size)
			if n == 0 { // a record is larger than a request
				err = f.read(p, first)
				return
			}
			var recs []byte
			recs, err = read()
			p, first = p[copy(p, recs):], first+n
		}
	})
	return err
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
			p.readers++
			return p, min(p.first+p.records, end) - first
		}
	}
	return nil, end - first
}

// begin has the fetcher get its share of the requests from now on, before it takes one. It does nothing on nil.
func (f *fetcher) begin() {
	if f == nil || f.left == 0 {
		return
	}
	f.from.mu.Lock()
	defer f.from.mu.Unlock()
	f.from.fetchers[f] = true
}

// Ahead fetches what there is memory for.
func (f *fetcher) Ahead() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead()
}

// ahead is Ahead. REQUIRES: f.mu is held.
func (f *fetcher) ahead() {
	f.begin()
	for f.next < f.records {
		memory, give := f.from.take(len(f.pieces))
		if memory == nil {
			return
		}
		n, read := f.request(memory, f.next, f.records-f.next)
		if n == 0 { // a record is larger than a request
			give()
			return
		}
		p := &piece{first: f.next, records: n, left: n, give: give, done: make(chan struct{})}
		f.pieces, f.next = append(f.pieces, p), f.next+n
		f.from.do(func() {
			defer close(p.done)
			p.recs, p.err = read()
		})
	}
}

// release notes that n records have been read, from a piece or without one.
func (f *fetcher) release(from *piece, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left -= n; f.left == 0 {
		f.from.leave(f)
	}
	if from == nil {
		return
	}
	from.readers, from.left = from.readers-1, from.left-n
	switch i := slices.Index(f.pieces, from); {
	case i < 0 && from.readers == 0: // it was given up
		f.drop(from)
	case i >= 0 && from.left == 0:
		f.pieces = slices.Delete(f.pieces, i, i+1)
		from.give()
	}
}

// giveUp gives back what nobody will read any more.
func (f *fetcher) giveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pieces {
		if p.readers == 0 {
			f.drop(p)
		}
	}
	f.pieces, f.next, f.left = nil, f.records, 0
	f.from.leave(f)
}

// drop gives the memory of a request back when it has an answer.
func (f *fetcher) drop(p *piece) {
	go func() {
		<-p.done
		p.give()
	}()
}

// sequenceAhead is bytes that are read in order, and fetched ahead.
type sequenceAhead struct {
	*io.SectionReader
	by *fetcher
}

func newSequenceAhead(from *Requests, r io.ReaderAt, base, bytes int64) *sequenceAhead {
	by := newFetcher(from, 1, bytes, func(p []byte, first int64) error {
		_, err := r.ReadAt(p, base+first)
		return err
	})
	return &sequenceAhead{io.NewSectionReader(by, 0, bytes), by}
}

// ReadAt is ReadRecords of bytes.
func (f *fetcher) ReadAt(p []byte, first int64) (int, error) {
	if err := f.ReadRecords(p, first); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close gives up what was not read.
func (s *sequenceAhead) Close() error {
	s.by.giveUp()
	return nil
}

// Ahead reads what is remote in order, by requests of which several are under way and have so much memory.
func Ahead(r io.ReaderAt, bytes, memoryBytes int64) io.ReadCloser {
	requests := newRequests()
	requests.Allow(memoryBytes)
	return newSequenceAhead(requests, r, 0, bytes)
}
