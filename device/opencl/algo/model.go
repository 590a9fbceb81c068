package algo

import "math"

// Tiling is the shape of a radix sort by tiles in Koppelman's symbols ("Analysis of a Radix Sort Algorithm on NVIDIA
// GPUs").
type Tiling struct {
	ElementBytes int // s: bytes of an element, key and value
	KeyBits      int // k
	DigitBits    int // h
	Items        int // e: elements per thread
	GroupSize    int // B: threads in a block
	Groups       int // G: blocks in the grid; 0 leaves out the per-block histograms, which a scan kernel makes needless
}

func (t Tiling) passes() float64 { return float64((t.KeyBits + t.DigitBits - 1) / t.DigitBits) }

func (t Tiling) tile() float64 { return float64(t.Items) * float64(t.GroupSize) }

func (t Tiling) radix() float64 { return float64(int64(1) << t.DigitBits) }

// DataMovement is Koppelman's total data transfer of a sort of n elements, in units of an element or a counter:
//
//	(4n + 2·(n/eB)·2^h + G²·2^h + G·2^h) · k/h
func (t Tiling) DataMovement(n int64) float64 {
	g := float64(t.Groups)
	perPass := 4*float64(n) + 2*float64(n)/t.tile()*t.radix() + (g*g+g)*t.radix()
	return perPass * t.passes()
}

// Costs are Koppelman's constants: the steps of each part of the computation for what it is in proportion to.
type Costs struct {
	Sort         float64 // c_s: the sort within a block, for an element, bit and level of the prefix sum
	CountElement float64 // c_c1: the histogram of a tile, for an element
	CountBin     float64 // c_c2: likewise, for a bin
	Histogram    float64 // c_gh: the global histogram, for a bin of a block
	Offset       float64 // c_of: the offsets of a tile, for a bin and bit
	Scatter      float64 // c_sc: for an element
}

// UnitCosts has each step cost the same, as his examples do.
var UnitCosts = Costs{1, 1, 1, 1, 1, 1}

// Computation is Koppelman's total of the steps of both passes and all iterations:
//
//	[n·(c_s·h·lg(eB) + c_c1 + c_sc) + (n/eB)·2^h·(c_c2 + c_of·h) + c_gh·G·(G·2^h + h·2^h)] · k/h
func (t Tiling) Computation(n int64, c Costs) float64 {
	h, g := float64(t.DigitBits), float64(t.Groups)
	elements := float64(n) * (c.Sort*h*math.Log2(t.tile()) + c.CountElement + c.Scatter)
	bins := float64(n) / t.tile() * t.radix() * (c.CountBin + c.Offset*h)
	return t.passes() * (elements + bins + c.Histogram*g*(g+h)*t.radix())
}

// BalancedTile is the tile with which the offsets take as many steps as the sort within blocks, which smaller tiles
// make faster and larger ones slower: eB·lg(eB) = (c_of/c_s)·2^h.
func (t Tiling) BalancedTile(c Costs) float64 {
	wanted := c.Offset / c.Sort * t.radix()
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

// MovedBytes is what tile.cl moves with its scan: elements twice read and twice written, and each counter of
// counterBytes written, scanned (read twice, written once) and read.
func (t Tiling) MovedBytes(n int64, counterBytes int) float64 {
	tiles := float64((n + int64(t.tile()) - 1) / int64(t.tile()))
	elements := 4 * float64(n) * float64(t.ElementBytes)
	return t.passes() * (elements + 5*tiles*t.radix()*float64(counterBytes))
}

// CostModel is the bytes that the passes of a count, scan, reorder sort of n elements move, each at what it costs:
//
//	cost(h) = ⌈k/h⌉ · n · [s + s·(1 + 32·2^h/(T·s)) + 12·2^h/T]
//
// with s bytes per element, k key bits, h digit bits, and tiles of T elements. The first s is the count's reading, the
// second term the reorder's: a digit's stretch in a tile begins and ends within a memory sector of 32 bytes that is
// moved for a part of it; 12 bytes per counter are the table's.
func (t Tiling) CostModel(n int64) float64 {
	s := float64(t.ElementBytes)
	perElement := s + s*(1+32*t.radix()/(t.tile()*s)) + 12*t.radix()/t.tile()
	return t.passes() * float64(n) * perElement
}

// BestDigitBits is the one of some digit widths with the least CostModel; of equal ones the first.
func (t Tiling) BestDigitBits(n int64, widths []int) int {
	best := t
	for i, h := range widths {
		next := t
		next.DigitBits = h
		if i == 0 || next.CostModel(n) < best.CostModel(n) {
			best = next
		}
	}
	return best.DigitBits
}
