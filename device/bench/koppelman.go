package bench

import "math"

// tiling is the shape of a radix sort by tiles, in the symbols of Koppelman ("Analysis of a Radix
// Sort Algorithm on NVIDIA GPUs").
type tiling struct {
	elementBytes int // s: bytes of an element, key and value
	keyBits      int // k
	digitBits    int // h
	items        int // e: elements per thread
	groupSize    int // B: threads in a block
	// G: blocks in the grid; 0: without per-block histograms, which are unnecessary with a scan
	// kernel.
	groups int
}

func (t tiling) passes() float64 {
	return float64((t.keyBits + t.digitBits - 1) / t.digitBits)
}

func (t tiling) tile() float64 {
	return float64(t.items) * float64(t.groupSize)
}

func (t tiling) radix() float64 {
	return float64(int64(1) << t.digitBits)
}

// dataMovement returns Koppelman's total data transfer for a sort of n elements, in units of an
// element or a counter:
//
//	(4n + 2·(n/eB)·2^h + G²·2^h + G·2^h) · k/h
func (t tiling) dataMovement(n int64) float64 {
	g := float64(t.groups)
	perPass := 4*float64(n) + 2*float64(n)/t.tile()*t.radix() + (g*g+g)*t.radix()
	return perPass * t.passes()
}

// costs are Koppelman's constants. Each is the number of steps of one part of the computation,
// per unit of work.
type costs struct {
	// c_s: the sort within a block, per element, bit and level of the prefix sum.
	sort         float64
	countElement float64 // c_c1: the histogram of a tile, per element
	countBin     float64 // c_c2: the histogram of a tile, per bin
	histogram    float64 // c_gh: the global histogram, per bin of a block
	offset       float64 // c_of: the offsets of a tile, per bin and bit
	scatter      float64 // c_sc: the scatter, per element
}

// unitCosts are the constants of Koppelman's examples: each step costs the same.
var unitCosts = costs{1, 1, 1, 1, 1, 1}

// computation returns Koppelman's total number of steps for both passes and all iterations:
//
//	[n·(c_s·h·lg(eB) + c_c1 + c_sc) + (n/eB)·2^h·(c_c2 + c_of·h)
//	 + c_gh·G·(G·2^h + h·2^h)] · k/h
func (t tiling) computation(n int64, c costs) float64 {
	h := float64(t.digitBits)
	g := float64(t.groups)
	elements := float64(n) * (c.sort*h*math.Log2(t.tile()) + c.countElement + c.scatter)
	bins := float64(n) / t.tile() * t.radix() * (c.countBin + c.offset*h)
	return t.passes() * (elements + bins + c.histogram*g*(g+h)*t.radix())
}

// balancedTile returns the tile size at which computing the offsets takes as many steps as
// sorting within blocks: eB·lg(eB) = (c_of/c_s)·2^h. Smaller tiles spend more on offsets, larger
// ones on sorting.
func (t tiling) balancedTile(c costs) float64 {
	wanted := c.offset / c.sort * t.radix()
	low := 1.0
	high := wanted + 2 // x·lg(x) is 0 at 1, and more than wanted at wanted + 2
	for high-low > 1e-6 {
		middle := (low + high) / 2
		if middle*math.Log2(middle) < wanted {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// movedBytes returns the bytes that tile.cl moves, including its scan. It reads and writes each
// element twice. It writes each counter of counterBytes, scans it (two reads and one write) and
// reads it.
func (t tiling) movedBytes(n int64, counterBytes int) float64 {
	tiles := float64((n + int64(t.tile()) - 1) / int64(t.tile()))
	elements := 4 * float64(n) * float64(t.elementBytes)
	return t.passes() * (elements + 5*tiles*t.radix()*float64(counterBytes))
}
