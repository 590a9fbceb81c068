package info

import (
	"cmp"
	"math"
	"slices"
)

// Size is a record size that is likely, as many bytes are the same as those some records before.
type Size struct {
	RecordSize int     `json:"record_size"`
	Records    int64   `json:"records"`   // whole ones; -1: not known
	LeftOver   int64   `json:"left_over"` // bytes after them, or of a header before them; -1: not known
	Header     int64   `json:"header"`    // bytes before the first record, where some are left over; 0: nothing tells
	Same       float64 `json:"same"`      // part of the bytes that equal those one, two, three … records before
	Chance     float64 `json:"chance"`    // the same for two bytes from anywhere
}

// excess is how much more bytes are the same than by chance.
func (s *Size) excess() float64 { return s.Same - s.Chance }

const (
	sizeBlocks  = 8       // that are looked at for the size of a record
	sizeBytes   = 8 << 10 // of each
	anySize     = 512     // up to which each size is tried, and above it what divides the data
	maxLikely   = 4096    // the largest size that is tried
	maxDistance = 2048    // between bytes that are compared, unless a record is larger
	leastExcess = 0.004   // bytes that are the same, beyond chance
	leastPairs  = 16      // of bytes that are compared
)

// likelySizes compares bytes with those before them, at the distances of one, two, three … records of each size. Bytes
// of the same field are more alike than others. That neighbours are alike does not count: they are at few distances.
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
		s := Size{RecordSize: size, Records: -1, LeftOver: -1, Chance: chance}
		if src.data >= 0 {
			s.Records, s.LeftOver = src.data/int64(size), src.data%int64(size)
		}
		pairs := 0
		s.Same, pairs = comb(same, size)
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

// comb is how many of the bytes are the same at a distance of one, two, three … records, of so many pairs.
func comb(same func(distance int) (same, pairs int), size int) (part float64, pairs int) {
	equal := 0
	for distance := size; distance <= max(maxDistance, size); distance += size {
		n, of := same(distance)
		equal, pairs = equal+n, pairs+of
	}
	return float64(equal) / float64(max(pairs, 1)), pairs
}

// equalAt gives compare with what it was asked before at hand.
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

// sizeSample is blocks from all over the data that can be read.
func sizeSample(src *source) (blocks [][]byte, err error) {
	known := src.known()
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

// chanceOf is how likely two bytes from anywhere are the same.
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

// compare counts the bytes that equal the one so many before.
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
	headRows  = 8         // records that have to be as the others are
	someRows  = 128       // the others, from all over the data
	maxHeader = 256 << 10 // bytes
	nearlyAll = 0.9
)

// headerOf guesses where records begin that end where the data do: from there on they have the bytes that nearly all
// records have at their place. 0: nothing tells.
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
		if at == 0 && alike(head) > 0.5 { // no bytes are left over, and the first record is one
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

// commonBytes are the bytes that nearly all records have, by their place in a record.
func commonBytes(src *source, size int) (map[int]byte, error) {
	all := src.data / int64(size)
	rows := min(someRows, all)
	counts, common, record := make([][256]int64, size), map[int]byte{}, make([]byte, size)
	for row := range rows {
		if _, err := src.read(record, src.data-int64(size)*(1+row*all/rows)); err != nil {
			return nil, err
		}
		for i, c := range record {
			if counts[i][c]++; float64(counts[i][c]) >= nearlyAll*float64(rows) && rows >= 2*headRows {
				common[i] = c
			}
		}
	}
	return common, nil
}

// likeliest are the best of the sizes that stand out, the best first: no multiples of one that is as good, none that is
// much worse than the best, and none with bytes left over unless it is much better than all that have none.
func likeliest(found []Size) []Size {
	best, bestWhole := 0.0, 0.0
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
		if !multiple && s.excess() > 0.6*best && (s.LeftOver <= 0 || s.excess() > 1.5*bestWhole) {
			likely = append(likely, s)
		}
	}
	slices.SortStableFunc(likely, func(a, b Size) int { return cmp.Compare(b.excess(), a.excess()) })
	return likely[:min(len(likely), 4)]
}
