package chunker

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

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

// sectionSource reads the records [first, first+records) of something that can be read at any place.
type sectionSource struct {
	first, records int64
	size           int // bytes of a record
	claimed        atomic.Int64
	readRecords    readRecords
	mapRecords     func(first, n int64) (device.Mapping, error) // nil: they cannot be mapped

	ahead *ahead       // nil: what lies ahead cannot be asked for
	asked atomic.Int64 // up to which record that was done
}

func (s *sectionSource) Records() int64 { return s.records }

func (s *sectionSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	at := s.claimed.Add(int64(max)) - int64(max)
	n := int(min(int64(max), s.records-at))
	if n <= 0 {
		return s.records, 0, nil
	}
	p := place(at, n)[:n*s.size]
	if end := at + int64(n); s.ahead.fromDisk() {
		s.ahead.to(&s.asked, s.first, end, min(end+s.ahead.window, s.records))
	}
	s.ahead.note(len(p))
	return at, n, s.readRecords(p, s.first+at)
}

// ReadAhead implements Foreseen.
func (s *sectionSource) ReadAhead(ctx context.Context, maxBytes int64) {
	if !s.ahead.fromDisk() {
		return
	}
	for at, end := int64(0), min(s.records, maxBytes/int64(s.size)); at < end && ctx.Err() == nil; at += s.ahead.step {
		s.ahead.to(&s.asked, s.first, at, min(at+s.ahead.step, end))
	}
}

// Map implements device.Mapped.
func (s *sectionSource) Map() (device.Mapping, error) {
	if s.mapRecords == nil || s.records == 0 {
		return nil, nil
	}
	return s.mapRecords(s.first, s.records)
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

// partialRecord is the error of a stream that ends within a record.
func partialRecord(name string, bytes int64, size int) error {
	return fmt.Errorf("%s: %d bytes are not a whole number of %d-byte records: %d bytes are left over (is the record size right, or the file cut short?)",
		name, bytes, size, bytes%int64(size))
}

// ReaderSource is the source of the records that stand in r from the byte base on.
func ReaderSource(r io.ReaderAt, base, records int64, size int) device.Source {
	return &sectionSource{records: records, size: size, readRecords: func(p []byte, first int64) error {
		_, err := r.ReadAt(p, base+first*int64(size))
		return err
	}}
}
