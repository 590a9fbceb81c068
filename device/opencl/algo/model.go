package algo

import (
	"cmp"
	"slices"
)

// tiling is a sort by tiles, in the symbols of Koppelman ("Analysis of a Radix Sort Algorithm on NVIDIA GPUs").
type tiling struct {
	elementBytes int // s: of a key with its value
	keyBits      int // k
	tile         int // T: elements of a tile
}

// cost is the bytes that the passes of a count, scan, reorder sort move for an element, each at what it costs:
//
//	cost(h) = ⌈k/h⌉ · [s + s·(1 + 32·2^h/(T·s)) + 12·2^h/T]
//
// with digits of h bits. The first s is the count's reading, the second term the reorder's: a digit's stretch in a tile
// begins and ends within a memory sector of 32 bytes that is moved for a part of it; 12 bytes per counter are the
// table's.
func (t tiling) cost(digitBits int) float64 {
	s, bins := float64(t.elementBytes), float64(int64(1)<<digitBits)/float64(t.tile)
	return float64((t.keyBits+digitBits-1)/digitBits) * (s + s*(1+32*bins/s) + 12*bins)
}

// bestDigitBits is the one of some digit widths that costs least; of equal ones the first.
func (t tiling) bestDigitBits(widths []int) int {
	return slices.MinFunc(widths, func(a, b int) int { return cmp.Compare(t.cost(a), t.cost(b)) })
}

// maxDigitBits is the widest digit of a pass: a digit value has a counter for each tile.
const maxDigitBits = 8

func upTo(most int) (widths []int) {
	for h := range most {
		widths = append(widths, h+1)
	}
	return widths
}
