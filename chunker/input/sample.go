package input

import (
	"context"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

const (
	// SampleTogether is the number of adjacent records read at one position of a sample, because
	// they share a page of the file. It is larger for remote inputs, because each request takes
	// time.
	SampleTogether       = 16
	remoteSampleTogether = 32

	// maxSampleReaders is the number of positions read concurrently. A disk reads several
	// positions as fast as one, and an object store reads many.
	maxSampleReaders       = 8
	maxRemoteSampleReaders = 32

	sampleBuffer = 64 << 10 // bytes, or one record
)

// sampleReadersOf returns the number of concurrent readers of a sample and the number of adjacent
// records each reads. Their buffers do not count towards the memory limit. Together they have at
// most 2 MiB, or one record.
func sampleReadersOf(size int, remote bool) (readers, together int) {
	readers = maxSampleReaders
	together = SampleTogether
	if remote {
		readers = maxRemoteSampleReaders
		together = remoteSampleTogether
	}
	return max(1, min(readers, 1<<20/size)), together
}

// SampleRecords reads n records at evenly spaced positions, in groups of up to together records,
// or all records if there are fewer. read fills p with the records from index first on; up to
// readers calls are made concurrently.
func SampleRecords(
	ctx context.Context,
	k format.Prefixer,
	records int64,
	n, together, readers int,
	read func(p []byte, first int64) error,
) (plan.Sample, error) {
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
