package algo

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

// BestDigitBits is the digit width of 1 to most bits with the least CostModel; of equal ones the narrower.
func (t Tiling) BestDigitBits(n int64, most int) int {
	best := t
	best.DigitBits = 1
	for h := 2; h <= most; h++ {
		next := t
		next.DigitBits = h
		if next.CostModel(n) < best.CostModel(n) {
			best = next
		}
	}
	return best.DigitBits
}
