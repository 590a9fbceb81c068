package bench

import "math"

// tiling is the shape of a radix sort by tiles in Koppelman's symbols ("Analysis of a Radix Sort Algorithm on NVIDIA
// GPUs").
type tiling struct {
	elementBytes int // s: bytes of an element, key and value
	keyBits      int // k
	digitBits    int // h
	items        int // e: elements per thread
	groupSize    int // B: threads in a block
	groups       int // G: blocks in the grid; 0 leaves out the per-block histograms, which a scan kernel makes needless
}

func (t tiling) passes() float64 { return float64((t.keyBits + t.digitBits - 1) / t.digitBits) }

func (t tiling) tile() float64 { return float64(t.items) * float64(t.groupSize) }

func (t tiling) radix() float64 { return float64(int64(1) << t.digitBits) }

// dataMovement is Koppelman's total data transfer of a sort of n elements, in units of an element or a counter:
//
//	(4n + 2·(n/eB)·2^h + G²·2^h + G·2^h) · k/h
func (t tiling) dataMovement(n int64) float64 {
	g := float64(t.groups)
	perPass := 4*float64(n) + 2*float64(n)/t.tile()*t.radix() + (g*g+g)*t.radix()
	return perPass * t.passes()
}

// costs are Koppelman's constants: the steps of each part of the computation for what it is in proportion to.
type costs struct {
	sort         float64 // c_s: the sort within a block, for an element, bit and level of the prefix sum
	countElement float64 // c_c1: the histogram of a tile, for an element
	countBin     float64 // c_c2: likewise, for a bin
	histogram    float64 // c_gh: the global histogram, for a bin of a block
	offset       float64 // c_of: the offsets of a tile, for a bin and bit
	scatter      float64 // c_sc: for an element
}

// unitCosts has each step cost the same, as his examples do.
var unitCosts = costs{1, 1, 1, 1, 1, 1}

// computation is Koppelman's total of the steps of both passes and all iterations:
//
//	[n·(c_s·h·lg(eB) + c_c1 + c_sc) + (n/eB)·2^h·(c_c2 + c_of·h) + c_gh·G·(G·2^h + h·2^h)] · k/h
func (t tiling) computation(n int64, c costs) float64 {
	h, g := float64(t.digitBits), float64(t.groups)
	elements := float64(n) * (c.sort*h*math.Log2(t.tile()) + c.countElement + c.scatter)
	bins := float64(n) / t.tile() * t.radix() * (c.countBin + c.offset*h)
	return t.passes() * (elements + bins + c.histogram*g*(g+h)*t.radix())
}

// balancedTile is the tile with which the offsets take as many steps as the sort within blocks, which smaller tiles
// make faster and larger ones slower: eB·lg(eB) = (c_of/c_s)·2^h.
func (t tiling) balancedTile(c costs) float64 {
	wanted := c.offset / c.sort * t.radix()
	low, high := 1.0, wanted+2 // x·lg(x) is 0 at 1, and more than wanted at wanted + 2
	for high-low > 1e-6 {
		if middle := (low + high) / 2; middle*math.Log2(middle) < wanted {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// movedBytes is what tile.cl moves with its scan: elements twice read and twice written, and each counter of
// counterBytes written, scanned (read twice, written once) and read.
func (t tiling) movedBytes(n int64, counterBytes int) float64 {
	tiles := float64((n + int64(t.tile()) - 1) / int64(t.tile()))
	elements := 4 * float64(n) * float64(t.elementBytes)
	return t.passes() * (elements + 5*tiles*t.radix()*float64(counterBytes))
}
