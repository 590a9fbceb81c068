package computed

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/extsort/extsort/format"
)

// An axis is a dimension of a curve. It maps the values of a field to cells.
type axis struct {
	name    string
	field   format.Field
	keyer   *format.Keyer
	isGiven bool // the range was given
	hasNaT  bool // normalized key 0 is NumPy's NaT, which counts as NaN

	// low and high are the range as normalized keys, which have the order of the values. Without
	// values, low is greater than high.
	low, high uint64
	// least and greatest are the normalized keys of the least and the greatest finite value.
	least, greatest uint64

	// A value v belongs to cell (v - low)·scale. A float belongs to cell (v/2 - half)·scale, where
	// half is low/2, because the difference of two finite numbers can be infinite. top is the last
	// cell.
	half  float64
	scale float64
	top   float64
}

// newAxis returns the dimension for a field of records of size bytes.
func newAxis(f format.Field, size int, a argument) (*axis, error) {
	keyer, err := format.NewKeyer(format.Layout{RecordSize: size, Key: []format.Field{f}})
	if err != nil {
		return nil, err
	}
	x := &axis{name: a.field, field: f, keyer: keyer}
	x.greatest = math.MaxUint64 >> (64 - 8*f.Type.Size)
	switch {
	case f.Type.IsFloat():
		x.setFinite()
	case f.HasNaNs():
		x.hasNaT = true
		x.least = 1
	}
	x.low = x.greatest
	x.high = x.least
	if a.low != "" {
		err = x.setRange(a.low, a.high)
	}
	return x, err
}

// setFinite sets the least and the greatest finite value of a float. In the order of normalized
// keys, the finite values lie between -Inf and +Inf.
func (x *axis) setFinite() {
	infinity := uint64(0x7c00) // the bits of +Inf
	switch t := x.field.Type; {
	case t.Size == 8:
		infinity = 0x7ff << 52
	case t.Size == 4:
		infinity = 0xff << 23
	case t.Kind == format.Brain:
		infinity = 0xff << 7
	}
	zero := x.greatest/2 + 1 // the normalized key of +0
	x.least = zero - infinity
	x.greatest = zero + infinity - 1
}

// setRange sets the range that was given.
func (x *axis) setRange(low, high string) (err error) {
	if x.low, err = x.parse(low); err != nil {
		return err
	}
	if x.high, err = x.parse(high); err != nil {
		return err
	}
	if x.low >= x.high {
		return fmt.Errorf("the range %s:%s of %s is empty: give the least value first", low, high, x.name)
	}
	x.isGiven = true
	return nil
}

// parse returns the normalized key of a value of the field.
func (x *axis) parse(text string) (uint64, error) {
	t := x.field.Type
	bad := fmt.Errorf("%q is not a finite number of type %v, the type of %s", text, t, x.name)
	width := 8 * t.Size
	switch t.Kind {
	case format.Unsigned:
		v, err := strconv.ParseUint(text, 10, width)
		if err != nil {
			return 0, bad
		}
		return v, nil
	case format.Signed:
		v, err := strconv.ParseInt(text, 10, width)
		if err != nil {
			return 0, bad
		}
		return uint64(v)&x.greatest ^ 1<<(width-1), nil
	}

	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < x.value(x.least) || v > x.value(x.greatest) {
		return 0, bad
	}
	return x.nearest(v), nil
}

// nearest returns the normalized key of the greatest value of the field that is not greater than v.
func (x *axis) nearest(v float64) uint64 {
	low := x.least
	high := x.greatest
	for low < high {
		middle := high - (high-low)/2
		if x.value(middle) <= v {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// value returns the value of a normalized key of a float.
func (x *axis) value(v uint64) float64 {
	switch t := x.field.Type; {
	case t.Size == 8:
		return wideValue(v)
	case t.Size == 4:
		return narrowValue(v)
	default:
		var key [8]byte
		binary.BigEndian.PutUint64(key[:], v)
		return x.field.Number(key[8-t.Size:])
	}
}

// wideValue returns the value of the normalized key of an f64.
func wideValue(v uint64) float64 {
	if v>>63 == 1 {
		return math.Float64frombits(v ^ 1<<63)
	}
	return math.Float64frombits(^v)
}

// narrowValue returns the value of the normalized key of an f32.
func narrowValue(v uint64) float64 {
	bits := uint32(v)
	if bits>>31 == 1 {
		return float64(math.Float32frombits(bits ^ 1<<31))
	}
	return float64(math.Float32frombits(^bits))
}

// extremes returns the least and the greatest finite value of records.
func (x *axis) extremes(recs []byte, size int) (low, high uint64) {
	low = x.greatest
	high = x.least
	var numbers [blockRecords]uint64
	for len(recs) > 0 {
		n := min(len(recs)/size, blockRecords)
		x.keyer.Prefixes(numbers[:n], recs[:n*size])
		for _, v := range numbers[:n] {
			if v >= x.least && v <= x.greatest {
				low = min(low, v)
				high = max(high, v)
			}
		}
		recs = recs[n*size:]
	}
	return low, high
}

// setScale computes the mapping from the range to cells of a number of bits.
func (x *axis) setScale(bits int) {
	cells := math.Ldexp(1, bits)
	x.top = cells - 1
	switch {
	case x.low >= x.high: // the data has at most one value
		x.high = x.low
		x.scale = 0
	case x.field.Type.IsFloat():
		x.half = x.value(x.low) / 2
		x.scale = min(cells/(x.value(x.high)/2-x.half), math.MaxFloat64)
	default:
		x.scale = cells / (float64(x.high-x.low) + 1)
	}
}

// cellsOf sets the cells of the values of a block.
func (x *axis) cellsOf(cells *[blockRecords]uint32, b *block) {
	numbers := b.numbers[:b.n]
	x.keyer.Prefixes(numbers, b.recs)
	switch {
	case !x.field.Type.IsFloat():
		for i, v := range numbers {
			b.isNaN[i] = b.isNaN[i] || x.hasNaT && v == 0
			v = min(max(v, x.low), x.high) - x.low
			cells[i] = uint32(min(float64(v)*x.scale, x.top))
		}
	case x.field.Type.Size == 8:
		for i, v := range numbers {
			cells[i], b.isNaN[i] = x.cell(wideValue(v), b.isNaN[i])
		}
	case x.field.Type.Size == 4:
		for i, v := range numbers {
			cells[i], b.isNaN[i] = x.cell(narrowValue(v), b.isNaN[i])
		}
	default:
		for i, v := range numbers {
			cells[i], b.isNaN[i] = x.cell(x.value(v), b.isNaN[i])
		}
	}
}

// cell returns the cell of a float. isNaN reports whether it, or an earlier coordinate of the point,
// is a NaN.
func (x *axis) cell(v float64, isNaN bool) (uint32, bool) {
	position := (float64(v*0.5) - x.half) * x.scale // the conversion prevents a fused operation
	switch {
	case position > 0:
		return uint32(min(position, x.top)), isNaN
	case v != v:
		return 0, true
	}
	return 0, isNaN
}
