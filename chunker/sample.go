package chunker

import "github.com/extsort/extsort/format"

// Sample is what some records tell of a dataset: their keys, and not the records, which may be of any size.
type Sample struct {
	Prefixes []uint64 // Keyer.Prefix of each, in the order of their positions
	Descents int      // neighbours among them that are out of order: 0 says that the dataset may well be sorted
}

// add appends the keys of records.
func (s *Sample) add(k *format.Keyer, recs []byte) {
	from := len(s.Prefixes)
	s.Prefixes = append(s.Prefixes, make([]uint64, len(recs)/k.Layout().RecordSize)...)
	k.Prefixes(s.Prefixes[from:], recs)
	for i := max(from, 1); i < len(s.Prefixes); i++ {
		if s.Prefixes[i] < s.Prefixes[i-1] {
			s.Descents++
		}
	}
}

const (
	// samplePlaces is how many records are read together at one place of a sample: they share a page of the file,
	// and the page is what costs when the file is not in memory.
	samplePlaces = 16

	// Of large records a sample has fewer: so many that they are maxSampleBytes together, but minSample at least.
	maxSampleBytes = 32 << 20
	minSample      = 1 << 10

	sampleBuffer = 64 << 10 // bytes, or one record
)

// SampleLimit is how many records of a size a sample has that may have n.
func SampleLimit(n, size int) int { return min(n, max(maxSampleBytes/size, minSample)) }

// sampleRecords reads n records at evenly spread places, or fewer that are large, or all that there are.
func sampleRecords(k *format.Keyer, records int64, n int, read func(p []byte, first int64) error) (Sample, error) {
	var s Sample
	size := k.Layout().RecordSize
	n = SampleLimit(n, size)
	group := min(samplePlaces, max(1, 4096/size), n)
	places := max(n/group, 1)
	at := func(i int) int64 { return (records - int64(group)) * int64(i) / int64(max(places-1, 1)) }
	if records <= int64(n) {
		group = max(1, sampleBuffer/size)
		places = int(records+int64(group)-1) / group
		at = func(i int) int64 { return int64(i) * int64(group) }
	}
	buffer := make([]byte, group*size)
	for i := range places {
		first := at(i)
		recs := buffer[:int(min(int64(group), records-first))*size]
		if err := read(recs, first); err != nil {
			return Sample{}, err
		}
		s.add(k, recs)
	}
	return s, nil
}
