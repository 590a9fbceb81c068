package chunker

import (
	"slices"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Dataset is a sequence of records to be sorted.
type Dataset interface {
	// Records is the number of records, or -1 when it is not known before the end.
	Records() int64

	// Cut returns the source of the next records, maxRecords at most, or nil when none are left. The sources of
	// successive calls may be read at the same time where the dataset can be read at offsets; from a stream
	// the one must be read to its end before the next is cut.
	Cut(maxRecords int64) (device.Source, error)

	// Split cuts all records into at most n sources of about the same size that can be read at the same time.
	// The records of one source all come before those of the next.
	Split(n int) []device.Source

	// Sample returns the keys of up to n records from places spread evenly over the dataset, or of its first ones when
	// it can be read only once.
	Sample(k *format.Keyer, n int) (Sample, error)

	// Check reports what can only be known after all has been read: that an input changed in between, for
	// example.
	Check() error

	Close() error
}

// evenly calls cut for n ranges of about the same size that cover records; fewer when there are few records.
func evenly(records int64, n int, cut func(first, n int64) device.Source) []device.Source {
	n = int(max(min(int64(n), records), 1))
	sources := make([]device.Source, n)
	for i := range sources {
		first, end := records*int64(i)/int64(n), records*int64(i+1)/int64(n)
		sources[i] = cut(first, end-first)
	}
	return sources
}

// NewDataset is the dataset of all records of the inputs, one input after another.
func NewDataset(inputs []*input.Input) Dataset {
	for _, in := range inputs {
		if !in.Seekable() {
			return &stream{Stream: input.NewStream(inputs)}
		}
	}
	return &files{Files: input.NewFiles(inputs), size: inputs[0].Header.Layout().RecordSize}
}

// files is the Dataset of inputs that can all be read at offsets.
type files struct {
	*input.Files
	size int   // bytes of a record
	cut  int64 // records that Cut has given out
}

func (f *files) Cut(maxRecords int64) (device.Source, error) {
	n := min(maxRecords, f.Records()-f.cut)
	if n <= 0 {
		return nil, nil
	}
	f.cut += n
	return f.Section(f.cut-n, n), nil
}

func (f *files) Split(n int) []device.Source { return evenly(f.Records(), n, f.Section) }

func (f *files) Sample(k *format.Keyer, n int) (Sample, error) {
	return sampleRecords(k, f.Records(), n, slices.Repeat([]readRecords{f.ReadRecords}, sampleReadersOf(f.size))...)
}

// stream is the Dataset of inputs of which at least one can be read only in sequence.
type stream struct {
	*input.Stream
	given int64 // records that Cut has given out, at most
}

func (s *stream) Cut(maxRecords int64) (device.Source, error) {
	if next, err := s.Peek(1); err != nil || len(next) == 0 {
		return nil, err
	}
	known := min(maxRecords, s.Records()-s.given)
	s.given += maxRecords
	return s.Next(maxRecords, known), nil
}

func (s *stream) Split(int) []device.Source { return []device.Source{s.Next(1<<63-1, s.Records())} }

// Sample reads the first n records ahead, peekBytes at most, and keeps them for the first source: what comes
// later cannot be known.
func (s *stream) Sample(k *format.Keyer, n int) (Sample, error) {
	size := k.Layout().RecordSize
	recs, err := s.Peek(max(min(n, peekBytes/size), 1))
	if err != nil {
		return Sample{}, err
	}
	prefixes := make([]uint64, len(recs)/size)
	k.Prefixes(prefixes, recs)
	return newSample(prefixes), nil
}

// peekBytes bounds what is read ahead of a stream.
const peekBytes = 1 << 20
