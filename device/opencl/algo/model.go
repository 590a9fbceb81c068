package algo

import (
	"cmp"
	"slices"
)

// tiling describes a sort by tiles, in the symbols of Koppelman ("Analysis of a Radix Sort
// Algorithm on NVIDIA GPUs").
type tiling struct {
	elementBytes int // s: bytes of a key with its value
	keyBits      int // k
	tile         int // T: elements of a tile
}

// cost returns the weighted number of bytes that all passes of a count, scan, reorder sort move
// per element:
//
//	cost(h) = ⌈k/h⌉ · [s + s·(1 + 32·2^h/(T·s)) + 12·2^h/T]
//
// where digits have h bits. The first s is the count's read. The second term is the reorder: each
// digit's part of a tile begins and ends within a memory sector of 32 bytes, which must be moved
// completely. The 12 bytes per counter are the traffic of the table.
func (t tiling) cost(digitBits int) float64 {
	s := float64(t.elementBytes)
	bins := float64(int64(1)<<digitBits) / float64(t.tile)
	return float64(
		(t.keyBits+digitBits-1)/digitBits,
	) * (s + s*(1+32*bins/s) + 12*bins)
}

// bestDigitBits returns the cheapest of several digit widths, and of equally cheap ones the
// first.
func (t tiling) bestDigitBits(widths []int) int {
	return slices.MinFunc(widths, func(a, b int) int {
		return cmp.Compare(t.cost(a), t.cost(b))
	})
}

// maxDigitBits is the widest digit of a pass: every digit value has a counter in each tile.
const maxDigitBits = 8

func upTo(most int) (widths []int) {
	for h := range most {
		widths = append(widths, h+1)
	}
	return widths
}
