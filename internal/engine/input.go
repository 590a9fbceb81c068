package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Input is the inputs of a run as one dataset. It counts the records as they are read and, if
// requested, computes their checksum.
type Input struct {
	Files  []*input.Input
	Header *format.Header
	Keyer  *format.Keyer
	Data   chunker.Dataset

	Before int64 // number of records before the first one to read
	Summed bool  // compute a checksum of the records that are read

	unseen  chunker.Dataset // like Data, but does not count records
	size    int             // record size in bytes
	summed  int             // number of bytes of each record that the checksum covers
	meter   *Meter
	records atomic.Int64
	sum     checksum // if Summed
}

// LimitOfPart converts the limit of a whole merge to that of the part being read. A negative
// result means that nothing of the part is written, and 0 means everything.
func (in *Input) LimitOfPart(limit int64) int64 {
	switch n := in.Data.Records(); {
	case limit <= 0 || n < 0:
		return limit
	case limit <= in.Before:
		return -1
	case limit >= in.Before+n:
		return 0
	}
	return limit - in.Before
}

// NewInput returns an Input that reads data, the records of the opened files. keyer describes its
// records, which may be transformed.
func NewInput(files []*input.Input, keyer *format.Keyer, data chunker.Dataset, m *Meter) *Input {
	in := &Input{
		Files:  files,
		Header: files[0].Header,
		Keyer:  keyer,
		unseen: data,
		size:   keyer.Layout().RecordSize,
		summed: keyer.Layout().RecordSize,
		meter:  m,
	}
	in.Data = chunker.Wrapped(data, func(src device.Source, _ int64) device.Source {
		return &watchedSource{src, in}
	})
	return in
}

// Appended returns an Input with bytes that t appends to each record of in. The checksum does not cover
// them. REQUIRES: nothing has been read
func (in *Input) Appended(t *chunker.Transform) (*Input, error) {
	keyer, err := format.NewKeyer(t.Layout)
	if err != nil {
		return nil, err
	}
	to := NewInput(in.Files, keyer, chunker.Transformed(in.unseen, t, in.Before), in.meter)
	to.Before = in.Before
	to.Summed = in.Summed
	to.summed = in.size
	return to, nil
}

// ReadSize returns the size of a record in the files, before any transformation, in bytes.
func (in *Input) ReadSize() int { return in.Header.Layout().RecordSize }

// Bytes returns the size of the records read so far.
func (in *Input) Bytes() int64 {
	return in.records.Load() * int64(in.size)
}

// DataBytes returns the total size of the records; it is negative if not known.
func (in *Input) DataBytes() int64 {
	return in.Data.Records() * int64(in.size)
}

// Records returns the number of records read so far.
func (in *Input) Records() int64 { return in.records.Load() }

// Seekable reports whether all inputs support random access.
func (in *Input) Seekable() bool {
	return !slices.ContainsFunc(in.Files, func(f *input.Input) bool { return !f.Seekable() })
}

// Remote reports whether an input is read over a network.
func (in *Input) Remote() bool {
	return input.Remote(in.Files) != nil
}

// Overwritten returns the input that is also the output, or nil.
func (in *Input) Overwritten() *input.Input {
	if i := slices.IndexFunc(in.Files, func(f *input.Input) bool { return f.Overwritten }); i >= 0 {
		return in.Files[i]
	}
	return nil
}

// countRead counts records as they are read.
func (in *Input) countRead(recs []byte) {
	in.records.Add(int64(len(recs) / in.size))
	in.meter.add(atInput, len(recs))
	if in.Summed {
		in.sum.addFirst(recs, in.size, in.summed)
	}
}

// skip counts records that are already in a checkpoint.
func (in *Input) skip(o spill.Origin) {
	in.records.Add(o.Records)
	in.sum.sum.Merge(o.Sum)
}

// restart resets the counters.
func (in *Input) restart() {
	in.records.Store(0)
	in.sum.sum = format.Checksum{}
}

// readAgain returns a source that reads all records again without counting them.
func (in *Input) readAgain() device.Source {
	return in.unseen.Split(1)[0]
}

// A watchedSource counts every record that is read.
type watchedSource struct {
	device.Source
	in *Input
}

func (w *watchedSource) ReadAhead(ctx context.Context, maxBytes int64) {
	input.ReadAhead(ctx, w.Source, maxBytes)
}

// Next reads from the source and counts the records.
func (w *watchedSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	var p []byte
	first, n, err := w.Source.Next(max, func(first int64, n int) []byte {
		p = place(first, n)
		return p
	})
	if n > 0 && err == nil {
		w.in.countRead(p[:n*w.in.size])
	}
	return first, n, err
}

// checksum is a format.Checksum that is safe for concurrent use.
type checksum struct {
	mu  sync.Mutex
	sum format.Checksum
}

func (c *checksum) add(recs []byte, size int) { c.addFirst(recs, size, size) }

// addFirst adds the first n bytes of each record.
func (c *checksum) addFirst(recs []byte, size, n int) {
	var part format.Checksum
	if n == size {
		part.Add(recs, size)
		recs = nil
	}
	for ; len(recs) > 0; recs = recs[size:] {
		part.Add(recs[:n], n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum.Merge(part)
}
