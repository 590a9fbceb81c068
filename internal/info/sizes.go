package info

import (
	"cmp"
	"math"
	"slices"
)

// Size is a likely record size: many bytes equal those one or more records before.
type Size struct {
	RecordSize int   `json:"record_size"`
	Records    int64 `json:"records"` // complete records; -1: unknown
	// Bytes after the records, or in a header before them; -1: unknown.
	LeftOver int64 `json:"left_over"`
	// Bytes before the first record, if bytes are left over; 0: unknown.
	Header int64 `json:"header"`
	// Share of bytes that equal those one, two, three … records before.
	Same   float64 `json:"same"`
	Chance float64 `json:"chance"` // the same share for random pairs of bytes
}

// excess returns by how much Same exceeds the share for random pairs.
func (s *Size) excess() float64 { return s.Same - s.Chance }

const (
	sizeBlocks = 8       // number of blocks to examine for the record size
	sizeBytes  = 8 << 10 // bytes per block
	// Up to this size, all sizes are tried; above it, only divisors of the size of the data.
	anySize     = 512
	maxLikely   = 4096  // largest size to try
	maxDistance = 2048  // maximum distance between compared bytes, unless a record is larger
	leastExcess = 0.004 // minimum excess of a likely size
	leastPairs  = 16    // minimum number of compared pairs
)

// likelySizes compares bytes with those one, two, three … records before, for each size. Bytes of
// the same field are equal more often than other bytes. Adjacent bytes that are often equal
// hardly matter, because they affect only few distances.
func likelySizes(src *source) ([]Size, error) {
	blocks, err := sizeSample(src)
	if err != nil {
		return nil, err
	}
	same := equalAt(blocks)
	chance := chanceOf(blocks)
	var found []Size
	for size := 1; size <= maxLikely; size++ {
		if size > anySize && (src.data < 0 || src.data%int64(size) != 0) {
			continue
		}
		s := Size{
			RecordSize: size,
			Records:    -1,
			LeftOver:   -1,
			Chance:     chance,
		}
		if src.data >= 0 {
			s.Records = src.data / int64(size)
			s.LeftOver = src.data % int64(size)
		}
		pairs := 0
		s.Same, pairs = equalShare(same, size)
		spread := math.Sqrt(chance * (1 - chance) / float64(max(pairs, 1)))
		if pairs >= leastPairs && s.excess() >= max(leastExcess, 5*spread) {
			found = append(found, s)
		}
	}
	found = likeliest(found)
	for i := range found {
		if s := &found[i]; s.LeftOver >= 0 {
			s.Header, err = headerOf(src, s.RecordSize)
			s.Records -= max(s.Header-s.LeftOver, 0) / int64(s.RecordSize)
		}
	}
	return found, err
}

// equalShare returns the share of equal bytes at distances of one, two, three … records, and the
// number of pairs.
func equalShare(
	same func(distance int) (same, pairs int), size int,
) (part float64, pairs int) {
	equal := 0
	for distance := size; distance <= max(maxDistance, size); distance += size {
		n, of := same(distance)
		equal = equal + n
		pairs = pairs + of
	}
	return float64(equal) / float64(max(pairs, 1)), pairs
}

// equalAt returns compare with a cache of its results.
func equalAt(blocks [][]byte) func(distance int) (same, pairs int) {
	known := map[int][2]int{}
	return func(distance int) (same, pairs int) {
		found, ok := known[distance]
		if !ok {
			found[0], found[1] = compare(blocks, distance)
			known[distance] = found
		}
		return found[0], found[1]
	}
}

// sizeSample returns blocks from all parts of the data that can be read.
func sizeSample(src *source) (blocks [][]byte, err error) {
	known := src.readableBytes()
	if known <= sizeBlocks*sizeBytes {
		block := make([]byte, known)
		_, err := src.read(block, 0)
		return [][]byte{block}, err
	}
	for i := range int64(sizeBlocks) {
		block := make([]byte, sizeBytes)
		if _, err := src.read(block, i*((known-sizeBytes)/(sizeBlocks-1))); err != nil {
			return nil, err
		}
		blocks = append(blocks, block)
	}
	return blocks, nil
}

// chanceOf returns the probability that two random bytes of the data are equal.
func chanceOf(blocks [][]byte) (chance float64) {
	var counts [256]float64
	all := 0.0
	for _, block := range blocks {
		for _, c := range block {
			counts[c]++
		}
		all += float64(len(block))
	}
	for _, n := range counts {
		chance += n / max(all, 1) * (n / max(all, 1))
	}
	return chance
}

// compare counts the bytes that equal the byte at a distance before them.
func compare(blocks [][]byte, distance int) (same, pairs int) {
	for _, block := range blocks {
		if len(block) <= distance {
			continue
		}
		later := block[distance:]
		for i, c := range block[:len(later)] {
			if c == later[i] {
				same++
			}
		}
		pairs += len(later)
	}
	return same, pairs
}

const (
	headRows  = 8         // number of records in the head that must match the others
	someRows  = 128       // number of the others, from all parts of the data
	maxHeader = 256 << 10 // bytes
	nearlyAll = 0.9
)

// headerOf guesses where the first record begins, assuming that the last record ends at the end
// of the data. From there on, the records must contain the bytes that nearly all records have at
// the same position. It returns 0 if it finds nothing.
func headerOf(src *source, size int) (int64, error) {
	common, err := commonBytes(src, size)
	if err != nil || len(common) == 0 {
		return 0, err
	}
	head := make([]byte, min(maxHeader, src.data/2))
	if _, err := src.read(head, 0); err != nil {
		return 0, err
	}
	alike := func(record []byte) float64 {
		same := 0
		for i, c := range common {
			if record[i] == c {
				same++
			}
		}
		return float64(same) / float64(len(common))
	}
	for at, rows := int(src.data%int64(size)), 0; at+size <= len(head); at += size {
		// No bytes are left over, and the first record looks like one.
		if at == 0 && alike(head) > 0.5 {
			return 0, nil
		}
		if rows++; alike(head[at:]) < nearlyAll {
			rows = 0
		}
		if rows == headRows {
			return int64(at - (headRows-1)*size), nil
		}
	}
	return 0, nil
}

// commonBytes returns the bytes that nearly all records have, by their position in a record.
func commonBytes(src *source, size int) (map[int]byte, error) {
	all := src.data / int64(size)
	rows := min(someRows, all)
	counts := make([][256]int64, size)
	common := map[int]byte{}
	record := make([]byte, size)
	for row := range rows {
		if _, err := src.read(record, src.data-int64(size)*(1+row*all/rows)); err != nil {
			return nil, err
		}
		for i, c := range record {
			if counts[i][c]++; float64(counts[i][c]) >= nearlyAll*float64(rows) &&
				rows >= 2*headRows {
				common[i] = c
			}
		}
	}
	return common, nil
}

// likeliest returns the best sizes, best first. It drops multiples of a size that is equally
// good, sizes that are much worse than the best, and sizes with bytes left over unless they are
// much better than all others.
func likeliest(found []Size) []Size {
	best := 0.0
	bestWhole := 0.0
	for _, s := range found {
		best = max(best, s.excess())
		if s.LeftOver <= 0 {
			bestWhole = max(bestWhole, s.excess())
		}
	}
	var likely []Size
	for _, s := range found {
		multiple := slices.ContainsFunc(likely, func(d Size) bool {
			return s.RecordSize%d.RecordSize == 0 && d.excess() > 0.8*s.excess()
		})
		if !multiple && s.excess() > 0.6*best &&
			(s.LeftOver <= 0 || s.excess() > 1.5*bestWhole) {
			likely = append(likely, s)
		}
	}
	slices.SortStableFunc(likely, func(a, b Size) int {
		return cmp.Compare(b.excess(), a.excess())
	})
	return likely[:min(len(likely), 4)]
}
