package input

import (
	"io"
	"slices"
	"sync"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/fileerr"
)

// A fetcher reads inputs ahead if the page cache does not: remote inputs, and inputs with direct
// I/O. All inputs of a run share it.
type fetcher struct {
	pool *blockio.Pool

	mu      sync.Mutex
	readers []*blockio.Reader // all running Readers, and some that have ended
}

const (
	// With less memory than plan.RemoteRequests need, requests first become smaller and then
	// fewer.
	minRequestBytes = 256 << 10

	// openBytes may be read ahead before there is a plan.
	openBytes = 1 << 20
)

// newFetcher returns a fetcher of remote inputs.
func newFetcher() *fetcher {
	f := &fetcher{pool: blockio.NewPool(blockio.Options{FreeIdle: true})}
	f.divideMemory(openBytes)
	return f
}

// divideMemory divides memory into requests.
func (f *fetcher) divideMemory(bytes int64) {
	each := max(min(bytes/plan.RemoteRequests, plan.RemoteRequestBytes), minRequestBytes)
	f.pool.Resize(int(min(bytes/each, plan.RemoteRequests)), int(each))
}

// Remote returns the requests that read remote inputs, or nil if no input is remote.
func Remote(all []*Input) *blockio.Pool {
	if f := remoteFetcher(all); f != nil {
		return f.pool
	}
	return nil
}

// AllowRemote sets the memory for reading remote inputs ahead. Requests in progress keep theirs. It
// does nothing if no input is remote.
func AllowRemote(all []*Input, bytes int64) {
	if f := remoteFetcher(all); f != nil {
		f.divideMemory(bytes)
	}
}

func remoteFetcher(all []*Input) *fetcher {
	for _, in := range all {
		if in.remote != nil {
			return in.remote
		}
	}
	return nil
}

// addReader remembers a Reader for closeReaders, and forgets Readers that have ended.
func (f *fetcher) addReader(r *blockio.Reader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers = slices.DeleteFunc(f.readers, (*blockio.Reader).Ended)
	f.readers = append(f.readers, r)
}

// closeReaders ends all Readers, so that their memory is given back. f may be nil.
func (f *fetcher) closeReaders() {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.readers {
		r.GiveUp()
	}
	f.readers = nil
}

// newReader returns a Reader of n records from index first on.
func (f *Files) newReader(by *fetcher, first, n int64) *blockio.Reader {
	r := blockio.NewReader(by.pool, blockio.ReaderOptions{
		Units:     n,
		UnitBytes: int64(f.recordBytes),
		Locate: func(at, most int64) (blockio.Range, int64, error) {
			r, n := f.locate(first+at, most)
			return r, n, nil
		},
		Check: func(at int64, recs []byte, err error) error {
			return f.checkRead(first+at, recs, err)
		},
	})
	by.addReader(r)
	return r
}

// locate returns the byte range of up to most records, starting with the given record, and their
// number. All of them are in the same input.
func (f *Files) locate(record, most int64) (blockio.Range, int64) {
	i := f.inputOf(record)
	in := f.inputs[i]
	n := min(most, f.starts[i+1]-record)
	r := blockio.Range{Off: in.Offset(record - f.starts[i]), Bytes: n * int64(f.recordBytes)}
	switch {
	case in.direct != nil:
		r.File = in.direct
		r.Off += in.at.start
	case f.remote != nil:
		r.File = (*fetchedFile)(in.at)
	default:
		r.File = (*cachedFile)(in.at)
	}
	return r, n
}

// checkRead checks records that were read. If err is not nil, recs contains the bytes before the
// error.
func (f *Files) checkRead(record int64, recs []byte, err error) error {
	i := f.inputOf(record)
	in := f.inputs[i]
	record -= f.starts[i]
	if err == nil {
		return in.Header.CheckRecords(recs, record*int64(f.recordBytes))
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = errShorter
	}
	return &fileerr.Error{Op: "read", File: in.Name, Offset: in.Offset(record) + int64(len(recs)), Err: err}
}

// A fetchedFile is read ahead by requests.
type fetchedFile seekable

func (f *fetchedFile) ReadAt(p []byte, off int64) (int, error) { return (*seekable)(f).ReadAt(p, off) }

// Props implements blockio.File.
func (f *fetchedFile) Props() blockio.Props { return blockio.Props{} }

// A cachedFile is read ahead by the system.
type cachedFile seekable

func (f *cachedFile) ReadAt(p []byte, off int64) (int, error) { return (*seekable)(f).ReadAt(p, off) }

// Props implements blockio.File.
func (f *cachedFile) Props() blockio.Props { return blockio.Props{Cached: true} }

// sequenceAhead reads bytes sequentially and reads them ahead.
type sequenceAhead struct {
	*io.SectionReader
	by bytesAhead
}

func newSequenceAhead(f *fetcher, r io.ReaderAt, base, bytes int64) *sequenceAhead {
	by := bytesAhead{blockio.NewSection(f.pool, blockio.Plain(r), base, bytes)}
	f.addReader(by.Reader)
	return &sequenceAhead{io.NewSectionReader(by, 0, bytes), by}
}

// bytesAhead is a Reader of bytes.
type bytesAhead struct{ *blockio.Reader }

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
	f := newFetcher()
	f.divideMemory(memoryBytes)
	return newSequenceAhead(f, r, 0, bytes)
}
