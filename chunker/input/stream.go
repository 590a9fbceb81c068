package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Stream is inputs of which at least one can be read only in sequence: their records, one input after another.
type Stream struct {
	inputs
	size    int   // bytes of a record
	records int64 // -1: not known
	given   int64 // records that Cut has given out, at most

	mu     sync.Mutex
	peeked []byte    // the next records, when somebody looked ahead
	r      io.Reader // of those after them
	err    error     // sticks
}

// NewStream joins inputs.
func NewStream(inputs []*Input) *Stream {
	s := &Stream{inputs: inputs, size: inputs[0].Header.Layout().RecordSize}
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

// Records is the number of records, or -1 when it is not known before the end.
func (s *Stream) Records() int64 { return s.records }

// Cut returns the source of the next records, maxRecords at most; nil: none are left. It must be read to its end before
// the next one is cut.
func (s *Stream) Cut(maxRecords int64) (device.Source, error) {
	if next, err := s.peek(1); err != nil || len(next) == 0 {
		return nil, err
	}
	known := min(maxRecords, s.records-s.given)
	s.given += maxRecords
	return &streamSource{stream: s, left: maxRecords, known: known}, nil
}

// Split gives one source of all records.
func (s *Stream) Split(int) []device.Source {
	return []device.Source{&streamSource{stream: s, left: math.MaxInt64, known: s.records}}
}

// peekBytes bounds what is read ahead of a stream.
const peekBytes = 1 << 20

// Sample reads the first n records ahead, peekBytes at most, and keeps them for the first source: what comes
// later cannot be known.
func (s *Stream) Sample(_ context.Context, k *format.Keyer, n int) (plan.Sample, error) {
	recs, err := s.peek(max(min(n, peekBytes/s.size), 1))
	if err != nil {
		return plan.Sample{}, err
	}
	prefixes := make([]uint64, len(recs)/s.size)
	k.Prefixes(prefixes, recs)
	return plan.NewSample(prefixes), nil
}

// peek reads the next n records, or as many as still come, and keeps them for the next source.
func (s *Stream) peek(n int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have := len(s.peeked)
	if have >= n*s.size {
		return s.peeked, nil
	}
	ahead := make([]byte, n*s.size)
	copy(ahead, s.peeked)
	m, err := s.fill(ahead[have:])
	s.peeked = ahead[:have+m]
	return s.peeked, err
}

// next reads up to len(p) bytes of whole records. It returns 0 only at the end or with an error.
func (s *Stream) next(p []byte) (int, error) {
	n := copy(p, s.peeked)
	s.peeked = s.peeked[n:]
	m, err := s.fill(p[n:])
	return n + m, err
}

// fill reads whole records until p is full, or none are left.
func (s *Stream) fill(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	if n, err = ReadFull(s.r, p); err != io.EOF {
		s.err = err
	}
	return n, s.err
}

// ReadFull reads until p is full: io.EOF is the end of the input before that. io.ReadFull would give
// io.ErrUnexpectedEOF, which is what a decompressor says of an input that was cut short.
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

// maxEmptyReads is how many reads in a row may give neither bytes nor an error. It is as many as bufio allows, which
// counts them only where it fills its own buffer.
const maxEmptyReads = 100

// movingReader gives up a reader that is never at its end and has nothing: whoever fills a buffer would ask it for
// ever.
type movingReader struct {
	r     io.Reader
	empty int // reads in a row
}

func (m *movingReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.empty++
	switch {
	case n > 0 || err != nil || len(p) == 0:
		m.empty = 0
	case m.empty >= maxEmptyReads:
		return 0, io.ErrNoProgress
	}
	return n, device.WithoutPath(err)
}

// checkEnd holds the record bytes that came from an input against what must be there.
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
		return fmt.Errorf("%s: the header announces %d records, but there are %d", in.Name, in.Records, got)
	}
	return nil
}

// checkMore reports record bytes that the header does not announce as soon as they come: a sort that takes its number
// of records from there has no room for them.
func (in *Input) checkMore(bytes int64) error {
	size := int64(in.Header.Layout().RecordSize)
	if in.Records < 0 || (bytes+size-1)/size <= in.Records {
		return nil
	}
	return fmt.Errorf("%s: the header announces %d records of %d bytes, but more follow: something was appended, or the "+
		"type is wrong", in.Name, in.Records, size)
}

// Sequence reads the records of the input from the first to the last, and then closes a stream. Its errors name the
// input; that there are fewer or more records than must be, or a part of one, is an error too.
func (in *Input) Sequence() io.Reader {
	if in.stream != nil {
		return &sequence{input: in, r: in.stream}
	}
	size := in.Records * int64(in.Header.Layout().RecordSize)
	return &sequence{input: in, r: in.at.sequence(in.Offset(0), size)}
}

// sequence is an input that is read from its first record on.
type sequence struct {
	input *Input
	r     io.Reader
	read  int64 // record bytes
}

func (s *sequence) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	failed := s.input.Header.CheckRecords(p[:n], s.read)
	s.read += int64(n)
	if failed = cmp.Or(failed, s.input.checkMore(s.read)); failed != nil {
		return n, failed
	}
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		s.r = io.MultiReader() // whose end can be read again
		if err = s.input.checkEnd(s.read); err == nil && s.input.stream != nil {
			s.input.whole = s.read / int64(s.input.Header.Layout().RecordSize)
		}
		return n, cmp.Or(err, s.input.closeStream(), io.EOF)
	}
	return n, fmt.Errorf("read %s at byte %d: %w", s.input.Name, s.input.Offset(0)+s.read, err)
}

// closeStream closes the input, once, unless it can be read at offsets, perhaps once more.
func (in *Input) closeStream() error {
	if in.stream == nil {
		return nil
	}
	in.stream = nil
	if in.file != nil && len(in.close) > 0 {
		in.file.last, _ = in.file.file.Stat()
	}
	return in.Close()
}

// streamSource is the next left records of a stream.
type streamSource struct {
	stream *Stream
	first  int64
	left   int64
	known  int64 // records to come; negative: not known
}

func (s *streamSource) Records() int64 { return max(s.known, -1) }

func (s *streamSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	s.stream.mu.Lock()
	defer s.stream.mu.Unlock()
	want := int(min(int64(max), s.left))
	if want == 0 {
		return s.first, 0, nil
	}
	first := s.first
	p := place(first, want)
	read, err := s.stream.next(p[:want*s.stream.size])
	if err != nil {
		return first, 0, err
	}
	n := read / s.stream.size
	s.first, s.left = first+int64(n), s.left-int64(n)
	return first, n, nil
}
