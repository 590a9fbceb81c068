package input

import (
	"cmp"
	"context"
	"io"
	"sort"
	"sync/atomic"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/blockio"
)

// Files consists of inputs that can all be read at offsets. It contains their records, one file
// after another.
type Files struct {
	inputs
	// index of the first record of each input, followed by the total number of records
	starts      []int64
	recordBytes int // record size in bytes
	ahead       *readahead
	recordsCut  int64 // number of records that Cut has returned

	remote *fetcher // reads all inputs ahead; nil if no input is remote
}

// NewFiles joins inputs. REQUIRES: all inputs are Seekable
func NewFiles(inputs []*Input) *Files {
	f := &Files{
		inputs:      inputs,
		starts:      []int64{0},
		recordBytes: inputs[0].Header.Layout().RecordSize,
		remote:      remoteFetcher(inputs),
	}
	for _, in := range inputs {
		f.starts = append(f.starts, f.starts[len(f.starts)-1]+in.Records)
	}
	f.ahead = newAhead(f.recordBytes, f.prefetch)
	return f
}

// Records returns the number of records.
func (f *Files) Records() int64 { return f.starts[len(f.inputs)] }

// fetcher returns the fetcher that reads all inputs ahead, because they are remote or use direct
// I/O, or nil.
func (f *Files) fetcher() *fetcher {
	return cmp.Or(f.remote, f.inputs[0].queued)
}

// Cut returns the source of the next records, at most maxRecords, or nil if none are left.
func (f *Files) Cut(maxRecords int64) (device.Source, error) {
	n := min(maxRecords, f.Records()-f.recordsCut)
	if n <= 0 {
		return nil, nil
	}
	if f.recordsCut == 0 {
		f.fetcher().closeReaders() // all records are read again
	}
	f.recordsCut += n
	s := f.section(f.recordsCut-n, n)
	s.reader.Join()
	return s, nil
}

// Split divides all records into at most n sources that can be read concurrently.
func (f *Files) Split(n int) []device.Source {
	f.fetcher().closeReaders() // all records are read again
	return SplitEvenly(f.Records(), n, func(i int, first, n int64) device.Source {
		s := f.section(first, n)
		if i < plan.RemoteReaders {
			s.reader.Join()
		}
		return s
	})
}

// SplitEvenly divides the records into n ranges of about the same size, or fewer if there are few
// records, and calls cut for each.
func SplitEvenly(records int64, n int, cut func(i int, first, n int64) device.Source) []device.Source {
	sources := make([]device.Source, max(min(int64(n), records), 1))
	for i := range sources {
		first, end := Part{int64(i), int64(len(sources))}.Of(records)
		sources[i] = cut(i, first, end-first)
	}
	return sources
}

// Close closes the inputs. REQUIRES: no read is in progress
func (f *Files) Close() error {
	f.fetcher().closeReaders()
	return f.inputs.Close()
}

// Sample returns the keys of up to n records at positions spread evenly over the files.
func (f *Files) Sample(ctx context.Context, k format.Prefixer, n int) (plan.Sample, error) {
	readers, together := sampleReadersOf(f.recordBytes, f.remote != nil)
	return SampleRecords(ctx, k, f.Records(), n, together, readers, f.ReadRecords)
}

// section returns a source of n records from index first on. Several sources may be read
// concurrently.
func (f *Files) section(first, n int64) *section {
	s := &section{
		first:       first,
		records:     n,
		recordBytes: f.recordBytes,
		readRecords: f.ReadRecords,
		ahead:       f.ahead,
	}
	if by := f.fetcher(); by != nil {
		s.reader = f.newReader(by, first, n)
	}

	return s
}

// ReadRecords fills p with the records from index first on. They may span several files.
func (f *Files) ReadRecords(p []byte, first int64) (err error) {
	f.eachInput(first, int64(len(p)/f.recordBytes), func(in *Input, first, n int64) {
		if err == nil {
			err = in.ReadRecords(p[:int(n)*f.recordBytes], first)
		}
		p = p[int(n)*f.recordBytes:]
	})
	return err
}

// prefetch asks the system to read n records from index first on. They may span several files.
func (f *Files) prefetch(first, n int64) {
	f.eachInput(first, n, (*Input).prefetch)
}

// inputOf returns the index of the input that contains a record.
func (f *Files) inputOf(record int64) int {
	return sort.Search(len(f.inputs), func(i int) bool { return f.starts[i+1] > record })
}

// eachInput calls do for every input that contains some of the n records from index first on.
func (f *Files) eachInput(first, n int64, do func(in *Input, first, n int64)) {
	for i := f.inputOf(first); n > 0; i++ {
		if part := min(n, f.starts[i+1]-first); part > 0 {
			do(f.inputs[i], first-f.starts[i], part)
			first += part
			n -= part
		}
	}
}

// A section reads the records [first, first+records) of an input with random access.
type section struct {
	first, records int64
	recordBytes    int // record size in bytes
	claimed        atomic.Int64
	readRecords    func(p []byte, first int64) error

	ahead        *readahead
	prefetchedTo atomic.Int64    // records before this one have been requested
	reader       *blockio.Reader // nil if the system reads ahead
}

func (s *section) Records() int64 { return s.records }

func (s *section) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	at := s.claimed.Add(int64(max)) - int64(max)
	n := int(min(int64(max), s.records-at))
	if n <= 0 {
		return s.records, 0, nil
	}
	p := place(at, n)[:n*s.recordBytes]
	if s.reader != nil {
		return at, n, s.reader.Read(p, at, at+int64(n))
	}
	if end := at + int64(n); s.ahead.fromDisk() {
		s.ahead.request(&s.prefetchedTo, s.first, end, min(end+s.ahead.windowRecords, s.records))
	}
	s.ahead.noteRead(len(p))
	return at, n, s.readRecords(p, s.first+at)
}

func (s *section) ReadAhead(ctx context.Context, maxBytes int64) {
	if s.reader != nil {
		s.reader.Ahead()
		return
	}

	if !s.ahead.fromDisk() {
		return
	}
	for at, end := int64(0), min(s.records, maxBytes/int64(s.recordBytes)); at < end &&
		ctx.Err() == nil; at += s.ahead.stepRecords {
		s.ahead.request(&s.prefetchedTo, s.first, at, min(at+s.ahead.stepRecords, end))
	}
}

// ReaderSource returns a source of the records stored in r from byte base on.
func ReaderSource(r io.ReaderAt, base, records int64, size int) device.Source {
	readRecords := func(p []byte, first int64) error {
		_, err := r.ReadAt(p, base+first*int64(size))
		return err
	}
	unasked := newAhead(size, func(int64, int64) {})
	return &section{
		records:     records,
		recordBytes: size,
		ahead:       unasked,
		readRecords: readRecords,
	}
}
