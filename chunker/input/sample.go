package input

import (
	"context"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

const (
	// SampleTogether is how many records are read together at one place of a sample: they share a page of the file. Of
	// what is remote it is more, since each answer takes a while.
	SampleTogether       = 16
	remoteSampleTogether = 32

	// maxSampleReaders is how many places are read at once: a disk reads several as fast as one, a store many.
	maxSampleReaders       = 8
	maxRemoteSampleReaders = 32

	sampleBuffer = 64 << 10 // bytes, or one record
)

// sampleReadersOf is how many read records of a size, so many together. Their buffers, of a record at least, are not of
// the memory limit: together they have 2 MiB at most, or one record.
func sampleReadersOf(size int, remote bool) (readers, together int) {
	readers, together = maxSampleReaders, SampleTogether
	if remote {
		readers, together = maxRemoteSampleReaders, remoteSampleTogether
	}
	return max(1, min(readers, 1<<20/size)), together
}

// SampleRecords reads n records at evenly spread places, so many together, or fewer that are large, or all that there
// are. read fills p with the records from index first on, and is called by so many readers at a time.
func SampleRecords(ctx context.Context, k *format.Keyer, records int64, n, together, readers int,
	read func(p []byte, first int64) error) (plan.Sample, error) {
	size := k.Layout().RecordSize
	n = plan.SampleLimit(n, size)
	group := min(together, max(1, 4096/size), n)
	places := max(n/group, 1)
	at := func(i int) int64 { return (records - int64(group)) * int64(i) / int64(max(places-1, 1)) }
	if records <= int64(n) {
		group = max(1, sampleBuffer/size)
		places = int(records+int64(group)-1) / group
		at = func(i int) int64 { return int64(i) * int64(group) }
	}
	all := make([]uint64, min(int64(places)*int64(group), records))
	readers = min(readers, places)
	buffers := make([]byte, readers*group*size)
	err := device.InOrder(ctx, readers, places, func(_ context.Context, reader, i int) error {
		prefixes := all[i*group : min((i+1)*group, len(all))]
		recs := buffers[reader*group*size:][:len(prefixes)*size]
		err := read(recs, at(i))
		k.Prefixes(prefixes, recs)
		return err
	})
	if err != nil {
		return plan.Sample{}, err
	}
	return plan.NewSample(all), nil
}
