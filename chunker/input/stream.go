package input

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/fileerr"
)

// A Stream joins inputs if at least one can only be read sequentially. It contains their records,
// one input after another.
type Stream struct {
	inputs
	recordBytes int   // record size in bytes
	records     int64 // -1 if not known
	recordsCut  int64 // maximum number of records that Cut has returned

	mu     sync.Mutex
	peeked []byte    // the next records, read in advance
	r      io.Reader // reads the records after peeked
	err    error     // permanent
}

// NewStream joins inputs.
func NewStream(inputs []*Input) *Stream {
	s := &Stream{inputs: inputs, recordBytes: inputs[0].Header.Layout().RecordSize}
	sequences := make([]io.Reader, len(inputs))
	for i, in := range inputs {
		sequences[i] = in.Sequence()
		if in.Records < 0 || s.records < 0 {
			s.records = -1
			continue
		}
		s.records += in.Records
	}

	s.r = io.MultiReader(sequences...)
	return s
}

// Records returns the number of records, or -1 if it is not known before the end.
func (s *Stream) Records() int64 { return s.records }

// Cut returns the source of the next records, at most maxRecords, or nil if none are left. The
// source must be read to its end before the next call.
func (s *Stream) Cut(maxRecords int64) (device.Source, error) {
	if next, err := s.peek(1); err != nil || len(next) == 0 {
		return nil, err
	}
	known := min(maxRecords, s.records-s.recordsCut)
	s.recordsCut += maxRecords
	return &streamSource{
		stream:    s,
		left:      maxRecords,
		remaining: known,
	}, nil
}

// Split returns a single source of all records.
func (s *Stream) Split(int) []device.Source {
	return []device.Source{&streamSource{
		stream:    s,
		left:      math.MaxInt64,
		remaining: s.records,
	}}
}

// peekBytes limits how much of a stream is read in advance.
const peekBytes = 1 << 20

// Sample reads the first n records in advance, at most peekBytes, and keeps them for the first
// source. The rest of a stream is not known.
func (s *Stream) Sample(_ context.Context, k format.Prefixer, n int) (plan.Sample, error) {
	recs, err := s.peek(max(min(n, peekBytes/s.recordBytes), 1))
	if err != nil {
		return plan.Sample{}, err
	}
	prefixes := make([]uint64, len(recs)/s.recordBytes)
	k.Prefixes(prefixes, recs)
	return plan.NewSample(prefixes), nil
}

// peek reads the next n records, or as many as are left, and keeps them for the next source.
func (s *Stream) peek(n int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	have := len(s.peeked)
	if have >= n*s.recordBytes {
		return s.peeked, nil
	}
	ahead := make([]byte, n*s.recordBytes)
	copy(ahead, s.peeked)
	m, err := s.fillRecords(ahead[have:])
	s.peeked = ahead[:have+m]
	return s.peeked, err
}

// readRecords reads whole records, up to len(p) bytes. It returns 0 only at the end or with an
// error.
func (s *Stream) readRecords(p []byte) (int, error) {
	n := copy(p, s.peeked)
	s.peeked = s.peeked[n:]
	m, err := s.fillRecords(p[n:])
	return n + m, err
}

// fillRecords reads whole records until p is full or none are left.
func (s *Stream) fillRecords(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	if n, err = ReadFull(s.r, p); err != io.EOF {
		s.err = err
	}
	return n, s.err
}

// ReadFull reads until p is full. It returns io.EOF if the input ends before that. io.ReadFull
// would return io.ErrUnexpectedEOF, which a decompressor also returns for truncated input.
func ReadFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	if n == len(p) {
		return n, nil
	}
	return n, err
}

// maxEmptyReads is the number of consecutive reads that may return neither bytes nor an error.
// bufio has the same limit, but applies it only when it fills its own buffer.
const maxEmptyReads = 100

// A stallDetector returns an error if a reader repeatedly returns neither bytes nor an error.
// Otherwise a caller that fills a buffer would loop forever.
type stallDetector struct {
	r          io.Reader
	emptyReads int // number of consecutive empty reads
}

func (m *stallDetector) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.emptyReads++
	switch {
	case n > 0 || err != nil || len(p) == 0:
		m.emptyReads = 0
	case m.emptyReads >= maxEmptyReads:
		return 0, io.ErrNoProgress
	}
	return n, device.WithoutPath(err)
}

// checkEnd compares the number of bytes read from an input with the expected number.
func (in *Input) checkEnd(bytes int64) error {
	size := int64(in.Header.Layout().RecordSize)
	if bytes%size != 0 {
		_, err := format.CheckSize(in.Name, in.Header, in.Header.Size()+bytes)
		return err
	}

	got := bytes / size
	if in.frame.Records != 0 && got != in.Records {
		return fmt.Errorf("%s: %w", in.Name, tooFewRecords(got, in.Records))
	}
	if in.Records >= 0 && got != in.Records {
		return fmt.Errorf(
			"%s: the header announces %d records, but there are %d", in.Name, in.Records, got,
		)
	}
	return nil
}

// checkMore returns an error as soon as an input contains more records than its header announces.
// A sort that takes the number of records from the header has no space for more.
func (in *Input) checkMore(bytes int64) error {
	size := int64(in.Header.Layout().RecordSize)
	if in.Records < 0 || (bytes+size-1)/size <= in.Records {
		return nil
	}
	return fmt.Errorf(
		"%s: the header announces %d records of %d bytes, but more follow: something was appended, or the "+
			"type is wrong",
		in.Name, in.Records, size,
	)
}

// Sequence returns a reader of all records of the input. At the end it closes a stream. Its
// errors name the input. It is an error if the number of records differs from the expected one,
// or if the last record is incomplete.
func (in *Input) Sequence() io.Reader {
	if in.access == inSequence {
		return &sequence{input: in, r: in.stream}
	}
	size := in.Records * int64(in.Header.Layout().RecordSize)
	return &sequence{input: in, r: in.at.sequence(in.Offset(0), size)}
}

// A sequence reads an input from its first record on.
type sequence struct {
	input     *Input
	r         io.Reader
	bytesRead int64 // number of bytes of records read
}

func (s *sequence) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	failed := s.input.Header.CheckRecords(p[:n], s.bytesRead)
	s.bytesRead += int64(n)
	if failed = cmp.Or(failed, s.input.checkMore(s.bytesRead)); failed != nil {
		return n, failed
	}
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF: // an error that only wraps io.EOF is a failure
		s.r = io.MultiReader() // returns io.EOF again
		if err = s.input.checkEnd(s.bytesRead); err == nil && s.input.access == inSequence {
			s.input.wholeRecords = s.bytesRead / int64(s.input.Header.Layout().RecordSize)
		}
		return n, cmp.Or(err, s.input.closeStream(), io.EOF)
	}

	return n, &fileerr.Error{Op: "read", File: s.input.Name, Offset: s.input.Offset(0) + s.bytesRead, Err: err}
}

// closeStream closes a stream, once. A seekable input stays open, because it may be read again.
func (in *Input) closeStream() error {
	if in.access != inSequence {
		return nil
	}
	in.access = atEnd
	in.stream = nil // its buffers and its decompressor can be freed
	in.origin.readCompletely()
	return in.Close()
}

// A streamSource is the source of the next left records of a stream.
type streamSource struct {
	stream    *Stream
	first     int64
	left      int64
	remaining int64 // remaining number of records; negative if not known
}

func (s *streamSource) Records() int64 { return max(s.remaining, -1) }

func (s *streamSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	s.stream.mu.Lock()
	defer s.stream.mu.Unlock()

	want := int(min(int64(max), s.left))
	if want == 0 {
		return s.first, 0, nil
	}
	first := s.first
	p := place(first, want)
	read, err := s.stream.readRecords(p[:want*s.stream.recordBytes])
	if err != nil {
		return first, 0, err
	}
	n := read / s.stream.recordBytes
	s.first = first + int64(n)
	s.left -= int64(n)
	return first, n, nil
}
