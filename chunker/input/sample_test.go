package input

import (
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// TestSampleOfLargeRecords checks that a sample of large records has few of them, read one at a
// time.
func TestSampleOfLargeRecords(t *testing.T) {
	const size, records = 1 << 20, 5000
	k := formattest.Keyer(t, format.Spec{RecordSize: size, Keys: []string{"0:u64"}})
	read := 0
	sample, err := SampleRecords(t.Context(), k, records, 1<<14, SampleTogether, 1, func(p []byte, first int64) error {
		if len(p) > size || first < 0 || first >= records {
			t.Fatalf("%d bytes are read at record %d", len(p), first)
		}
		binary.LittleEndian.PutUint64(p, uint64(first))
		read++
		return nil
	})
	if err != nil || read != plan.SampleLimit(records, size) || len(sample.Prefixes) != read || sample.Descents != 0 ||
		sample.Prefixes[read-1] != records-1 {
		t.Errorf("%d records are read, %d keys, %d descents, error %v", read, len(sample.Prefixes), sample.Descents, err)
	}
}

// TestSampleReadsOnce checks that each position of a sample is read once, with any number of
// readers, and that the sample of a small dataset is complete.
func TestSampleReadsOnce(t *testing.T) {
	k := formattest.Keyer(t, format.Spec{Type: "u64"})
	for _, records := range []int64{0, 1, 7, 100, 1 << 14, 1<<14 + 1, 1 << 20} {
		for _, readers := range []int{1, 3, maxSampleReaders} {
			var read atomic.Int64
			each := func(p []byte, first int64) error {
				read.Add(int64(len(p) / 8))
				for i := range len(p) / 8 {
					binary.LittleEndian.PutUint64(p[8*i:], uint64(first)+uint64(i))
				}
				return nil
			}
			s, err := SampleRecords(t.Context(), k, records, 1<<14, SampleTogether, readers, each)
			if want := min(records, 1<<14); err != nil || int64(len(s.Prefixes)) != want || read.Load() != want ||
				s.Descents != 0 {
				t.Errorf("%d records, %d readers: %d keys of %d records read, %d descents, error %v",
					records, readers, len(s.Prefixes), read.Load(), s.Descents, err)
			}
		}
	}
	for _, size := range []int{1, 100, 1 << 17, 1 << 18, 1 << 20, 1 << 24} {
		if n, _ := sampleReadersOf(size, false); n < 1 || n > maxSampleReaders || n > 1 && n*size > 1<<20 {
			t.Errorf("%d readers of records of %d bytes", n, size)
		}
	}
	boom := errors.New("boom")
	failing := func([]byte, int64) error { return boom }
	if _, err := SampleRecords(t.Context(), k, 1<<20, 1<<14, SampleTogether, 2, failing); !errors.Is(err, boom) {
		t.Errorf("a sample that cannot be read: %v", err)
	}
}
