package algo

import (
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
	needed := 0
	const spared = 2 // pairs that may tie, lest one unlucky pair costs a pass
	differ := make([]int, 0, len(distinct)-1)
	for i := 1; i < len(distinct); i++ {
		differ = append(differ, width-bits.Len64(distinct[i-1]^distinct[i])+1)
	}
	slices.Sort(differ)
	needed = differ[max(0, len(differ)-1-spared)]
	if len(distinct)*8 < len(sample) { // few values, all of them seen: what tells the sample apart tells all apart
		return min(width, differ[len(differ)-1]+leadingMargin)
	}
	typical := 2*bits.Len(uint(len(distinct)-1)) - 1 - 1 // log2 of the pairs that may tie
	share := float64(len(distinct)) / float64(len(sample))
	population := bits.Len64(uint64(float64(n)*share)) - 1
	return min(width, population+leadingMargin+max(0, needed-typical-2))
}
