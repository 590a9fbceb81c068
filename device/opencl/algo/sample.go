package algo

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// leadingMargin is the number of leading bits in excess of log2 of the number of keys. With 3,
// one random key in 16 has the same leading bits as its lower neighbor.
const leadingMargin = 3

// leadingBits estimates from a sample how many leading bits of keys of width bits distinguish
// most of n keys.
//
// Random keys need log2(n) + leadingMargin. To distinguish the keys of a sample of s distinct
// random keys takes about 2·log2(s) bits, according to the birthday paradox. If this sample needs
// more bits, the excess bits carry no information (they are constant or depend on others), so
// they are added. If values repeat, only distinct ones count, and n shrinks in proportion.
// leadingBits reorders the sample.
func leadingBits(sample []uint64, width int, n int64) int {
	slices.Sort(sample)
	distinct := slices.Compact(sample)
	if len(distinct) < 2 {
		return width
	}
	// Pairs that may have equal bits, so that one unlucky pair does not cost a pass.
	const spared = 2
	differ := make([]int, 0, len(distinct)-1)
	for i := 1; i < len(distinct); i++ {
		differ = append(differ, width-bits.Len64(distinct[i-1]^distinct[i])+1)
	}
	slices.Sort(differ)
	needed := differ[max(0, len(differ)-1-spared)]
	// Few values, all of them in the sample, so bits that distinguish the sample suffice.
	if len(distinct)*8 < len(sample) {
		return min(width, differ[len(differ)-1]+leadingMargin)
	}
	// Log2 of the number of pairs that may have equal bits.
	typical := 2*bits.Len(uint(len(distinct)-1)) - 1 - 1
	share := float64(len(distinct)) / float64(len(sample))
	population := bits.Len64(uint64(float64(n)*share)) - 1
	return min(width, population+leadingMargin+max(0, needed-typical-2))
}

// sampled is a sample of the keys, reduced to the bits to sort by and shifted down.
type sampled struct {
	keys          []uint64
	nextKeys      []uint64 // the next key in the data, for each key
	differingBits uint64   // bits that differ between keys
}

// provesVaried reports whether the sample proves that a digit varies. shift is its lowest bit.
func (s *sampled) provesVaried(shift int, mask uint64) bool {
	return s.differingBits>>shift&mask != 0
}

// isDescending reports whether the sample is in descending order and its keys differ: all of them
// if strict, and otherwise at least the first and the last.
func (s *sampled) isDescending(strict bool) bool {
	least := 0
	if strict {
		least = 1
	}
	for i := 1; i < len(s.keys); i++ {
		if cmp.Compare(s.keys[i-1], s.keys[i]) < least {
			return false
		}
	}
	return len(s.keys) > 1 && s.keys[0] > s.keys[len(s.keys)-1]
}

// topBit returns the number of bits below the leading bits that are the same in the whole sample.
func (s *sampled) topBit() int { return bits.Len64(s.differingBits) }

// isSpread reports two conditions. First, as far as the sample shows, buckets by leading bits hold
// at most p.room times the average, so they fit. Second, it is rare that many work-items count
// the same digit at once, which would serialize them: neighbors in the data differ, and the bits
// for the bins vary.
func (s *sampled) isSpread(p hybridPlan) bool {
	const cells = 32
	const slack = 24
	n := float64(len(s.keys))
	alike := 0.0
	for i, key := range s.nextKeys {
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
		s.collisions(
			p.shift(1), p.top-p.shift(1),
		) <= 2.5*evenCollisions(n, p.first+p.second)+slack &&
		s.collisions(p.binShift(), p.bins) <= 1.5*evenCollisions(n, p.bins)+slack
}

// collisions returns the number of keys minus the number of distinct values of a digit.
func (s *sampled) collisions(shift, width int) float64 {
	// A slice is faster than a map or sorting, and the device is waiting.
	seen := make([]bool, 1<<width)
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

// evenCollisions returns the expected value of collisions for n random keys.
func evenCollisions(n float64, width int) float64 {
	cells := math.Exp2(float64(width))
	return n - cells*(1-math.Exp(-n/cells))
}

// hybridPlan contains the number of bits that each step sorts by, from bit top downwards: first,
// second, and then bins.
type hybridPlan struct {
	top, first, second, bins int
	room                     float64 // factor by which a bucket may exceed the average
}

func (p hybridPlan) parts() int64 { return 1 << (p.first + p.second) }

// shift returns the lowest bit of a level's digit.
func (p hybridPlan) shift(level int) int {
	return p.top - p.first - level*p.second
}

// binShift returns the lowest bit of the bins.
func (p hybridPlan) binShift() int { return p.shift(1) - p.bins }
