package chunker

import (
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

	// Sample returns up to n records from places spread evenly over the dataset, in the order of their
	// positions; nothing when it can be read only once.
	Sample(n int) ([]byte, error)

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
	readRecords    func(p []byte, first int64) error
}

func (s *sectionSource) Records() int64 { return s.records }

func (s *sectionSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	at := s.claimed.Add(int64(max)) - int64(max)
	n := int(min(int64(max), s.records-at))
	if n <= 0 {
		return s.records, 0, nil
	}
	p := place(at, n)
	return at, n, s.readRecords(p[:n*s.size], s.first+at)
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

// samplePlaces is how many records are read together at one place of a sample: they share a page of the file,
// and the page is what costs when the file is not in memory.
const samplePlaces = 16

// sampleRecords reads up to n records at evenly spread places.
func sampleRecords(records int64, n, size int, read func(p []byte, first int64) error) ([]byte, error) {
	if records <= int64(n) {
		all := make([]byte, int(max(records, 0))*size)
		return all, read(all, 0)
	}
	group := min(samplePlaces, max(1, 4096/size), n)
	places := max(n/group, 1)
	sample := make([]byte, places*group*size)
	for i := range places {
		first := (records - int64(group)) * int64(i) / int64(max(places-1, 1))
		if err := read(sample[i*group*size:(i+1)*group*size], first); err != nil {
			return nil, err
		}
	}
	return sample, nil
}

// SampleKeys returns the prefixes of the records of a sample, and how many of the neighbours in it are out of
// order: 0 says that the dataset may well be sorted.
func SampleKeys(k *format.Keyer, sample []byte) (prefixes []uint64, descents int) {
	size := k.Layout().RecordSize
	prefixes = make([]uint64, len(sample)/size)
	k.Prefixes(prefixes, sample)
	for i := 1; i < len(prefixes); i++ {
		if prefixes[i] < prefixes[i-1] {
			descents++
		}
	}
	return prefixes, descents
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
