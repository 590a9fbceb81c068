package algo

import (
	"math"
	"math/bits"
	"slices"
)

// leadingMargin is by how many bits the leading bits exceed log2 of the keys: then one random key in 16 has a lower
// neighbour that ties with it.
const leadingMargin = 3

// leadingBits estimates from a sample how many leading bits of keys of width bits tell most of n keys apart.
//
// Random keys need log2(n) + leadingMargin. A sample of s distinct random keys is told apart by about 2·log2(s) bits,
// as of the birthday paradox; the bits that this sample needs beyond that carry no information (they are constant, or
// follow from others), so they are added. Where values repeat, only distinct ones count, and n shrinks in proportion.
// The sample is reordered.
func leadingBits(sample []uint64, width int, n int64) int {
	slices.Sort(sample)
	distinct := slices.Compact(sample)
	if len(distinct) < 2 {
		return width
	}
	const spared = 2 // pairs that may tie, lest one unlucky pair costs a pass
	differ := make([]int, 0, len(distinct)-1)
	for i := 1; i < len(distinct); i++ {
		differ = append(differ, width-bits.Len64(distinct[i-1]^distinct[i])+1)
	}
	slices.Sort(differ)
	needed := differ[max(0, len(differ)-1-spared)]
	if len(distinct)*8 < len(sample) { // few values, all of them seen: what tells the sample apart tells all apart
		return min(width, differ[len(differ)-1]+leadingMargin)
	}
	typical := 2*bits.Len(uint(len(distinct)-1)) - 1 - 1 // log2 of the pairs that may tie
	share := float64(len(distinct)) / float64(len(sample))
	population := bits.Len64(uint64(float64(n)*share)) - 1
	return min(width, population+leadingMargin+max(0, needed-typical-2))
}

// sampled is what was seen of the keys: the bits that are sorted by, shifted down.
type sampled struct {
	keys   []uint64
	after  []uint64 // the neighbour of each in the data
	differ uint64   // the bits that are not the same in all keys
}

// shows reports whether the sample proves that a digit, given by its lowest bit and mask, varies.
func (s *sampled) shows(shift int, mask uint64) bool {
	return s.differ>>shift&mask != 0
}

// top is the number of bits below the leading ones that all of the sample share.
func (s *sampled) top() int { return bits.Len64(s.differ) }

// spread reports whether buckets by leading bits will hold no more than p.room times their even share, as far as the
// sample can tell, so that they fit; and whether many work-items at once will rarely count the same digit, which
// makes them queue: neighbours in the data are not alike, and the bits for the bins vary.
func (s *sampled) spread(p hybridPlan) bool {
	const cells = 32
	const slack = 24
	n := float64(len(s.keys))
	alike := 0.0
	for i, key := range s.after {
		if (key^s.keys[i])>>p.shift(0) == 0 {
			alike++
		}
	}
	var fill [cells]float64
	for _, key := range s.keys {
		fill[key<<(64-p.top)>>(64-5)]++
	}
	return slices.Max(fill[:]) <= 0.8*p.room*n/cells+slack &&
		alike <= 4*n/float64(uint64(1)<<p.first)+slack &&
		s.collisions(p.shift(1), p.top-p.shift(1)) <= 2.5*evenCollisions(n, p.first+p.second)+slack &&
		s.collisions(p.binShift(), p.bins) <= 1.5*evenCollisions(n, p.bins)+slack
}

// collisions is by how many the distinct values of a digit fall short of the keys.
func (s *sampled) collisions(shift, width int) float64 {
	seen := make([]bool, 1<<width) // not a map, and no sorting: the device waits
	twice := 0.0
	for _, key := range s.keys {
		value := key >> shift & (1<<width - 1)
		if seen[value] {
			twice++
		}
		seen[value] = true
	}
	return twice
}

// evenCollisions is what collisions is to be expected to be for n random keys.
func evenCollisions(n float64, width int) float64 {
	cells := math.Exp2(float64(width))
	return n - cells*(1-math.Exp(-n/cells))
}

// hybridPlan says which bits each step sorts by: those below top, first, second, and then bins.
type hybridPlan struct {
	top, first, second, bins int
	room                     float64 // by how much a bucket may exceed its even share
}

func (p hybridPlan) parts() int64 { return 1 << (p.first + p.second) }

// shift is the lowest bit of a level's digit.
func (p hybridPlan) shift(level int) int {
	return p.top - p.first - level*p.second
}

// binShift is the lowest bit that the bins look at.
func (p hybridPlan) binShift() int { return p.shift(1) - p.bins }
