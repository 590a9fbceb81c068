package input

import (
	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

const (
	// samplePlaces is how many records are read together at one place of a sample: they share a page of the file.
	samplePlaces = 16

	sampleBuffer = 64 << 10 // bytes, or one record
)

// maxSampleReaders is how many places are read at once: a disk reads several as fast as one, a store many.
const (
	maxSampleReaders       = 8
	maxRemoteSampleReaders = 32
)

// sampleReadersOf is how many read records of a size. Their buffers, of a record at least, are not of the memory limit:
// together they have 2 MiB at most, or one record.
func sampleReadersOf(size int, remote bool) int {
	most := maxSampleReaders
	if remote {
		most = maxRemoteSampleReaders
	}
	return max(1, min(most, 1<<20/size))
}

// readRecords fills p with the records from index first on.
type readRecords func(p []byte, first int64) error

// SampleRecords reads n records at evenly spread places, or fewer that are large, or all that there are. Each of reads
// is called by one goroutine.
func SampleRecords(k *format.Keyer, records int64, n int, reads ...readRecords) (plan.Sample, error) {
	size := k.Layout().RecordSize
	n = plan.SampleLimit(n, size)
	group := min(samplePlaces, max(1, 4096/size), n)
	places := max(n/group, 1)
	at := func(i int) int64 { return (records - int64(group)) * int64(i) / int64(max(places-1, 1)) }
	if records <= int64(n) {
		group = max(1, sampleBuffer/size)
		places = int(records+int64(group)-1) / group
		at = func(i int) int64 { return int64(i) * int64(group) }
	}
	all := make([]uint64, min(int64(places)*int64(group), records))
	stretch := (places + len(reads) - 1) / len(reads)
	var readers errgroup.Group
	for r, read := range reads {
		from, to := r*stretch, min((r+1)*stretch, places)
		if from >= to {
			break // fewer places than readers
		}
		readers.Go(func() error {
			buffer := make([]byte, group*size)
			for i := from; i < to; i++ {
				prefixes := all[i*group : min((i+1)*group, len(all))]
				recs := buffer[:len(prefixes)*size]
				if err := read(recs, at(i)); err != nil {
					return err
				}
				k.Prefixes(prefixes, recs)
			}
			return nil
		})
	}
	if err := readers.Wait(); err != nil {
		return plan.Sample{}, err
	}
	return plan.NewSample(all), nil
}
