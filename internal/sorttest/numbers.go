package sorttest

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/extsort/extsort/format"
)

// extendedBytes is the size of an 80-bit float without padding.
const extendedBytes = 10

// positive returns the bytes of +0 and +Inf, most significant first, of a float type without
// padding.
func positive(t format.Type) (zero, infinity []byte) {
	size := t.Size
	if t.Kind == format.Extended {
		size = extendedBytes
	}
	zero = make([]byte, size)
	infinity = make([]byte, size)
	switch {
	case t.Kind == format.Extended:
		copy(infinity, "\x7f\xff\x80")
	case t.Kind == format.Brain || size == 4:
		copy(infinity, "\x7f\x80")
	case size == 2:
		copy(infinity, "\x7c")
	case size == 8:
		copy(infinity, "\x7f\xf0")
	default:
		copy(infinity, "\x7f\xff")
	}
	return zero, infinity
}

// appendFloat is appendKey for floats. A leading byte puts NaNs to their end; then follow the
// digits, most significant first.
func appendFloat(keys, value []byte, f format.Field) []byte {
	digits := ascending(value, f.Type)
	if f.Type.Kind == format.Extended {
		digits = digits[len(digits)-extendedBytes:] // without the padding
	}
	zero, infinity := positive(f.Type)
	negative := digits[0] >= 0x80
	digits[0] &= 0x7f
	isNaN := bytes.Compare(digits, infinity) > 0
	if f.Numeric && (isNaN || bytes.Equal(digits, zero)) {
		negative = false
	}
	if f.Numeric && isNaN {
		digits = zero
	}
	if negative { // the larger magnitude is the lesser number
		invert(digits)
		digits[0] &= 0x7f
	} else {
		digits[0] |= 0x80
	}

	class := classNumber
	if isNaN {
		class = classOfNaNs(f)
	}
	if class != classNumber && !f.Numeric {
		digits[0] ^= 0x80 // positive NaNs come before negative ones
	}
	if f.Desc {
		invert(digits)
	}
	return append(append(keys, class), digits...)
}

// The classes of floats, in their order.
const (
	classFirst byte = iota // NaNs before all numbers
	classNumber
	classLast // NaNs after all numbers
)

// classOfNaNs returns the class of the NaNs of a field.
func classOfNaNs(f format.Field) byte {
	switch {
	case f.NaN == format.NaNFirst:
		return classFirst
	case f.NaN == format.NaNLast || f.Numeric:
		return classLast
	}
	return classNumber // in IEEE 754 total order
}

// appendDecimal is appendKey for decimals. A leading byte is the sign; a zero has none.
func appendDecimal(keys, value []byte, f format.Field) []byte {
	var digits []byte // the last one is the sign
	for _, c := range value {
		digits = append(digits, c>>4, c&15)
	}
	if f.Type.Kind == format.Zoned {
		digits = digits[:0]
		for _, c := range value {
			digits = append(digits, c&15)
		}
		digits = append(digits, value[len(value)-1]>>4)
	}
	last := len(digits) - 1
	sign := digits[last]
	digits = slices.Insert(digits[:last], 0, 1)
	isZero := bytes.Count(digits[1:], []byte{0}) == len(digits)-1
	if (sign == 0xb || sign == 0xd) && !isZero {
		invert(digits)
		digits[0] = 0
	}
	if f.Desc {
		invert(digits)
	}
	return append(keys, digits...)
}

// addNumbers replaces the numbers of the key. Every fourth float is a NaN of any sign and payload,
// and another fourth are special values. If there are few numbers, many are zeros and integers.
func (d *data) addNumbers() { d.putNumbers(false) }

func (d *data) addFewNumbers() { d.putNumbers(true) }

func (d *data) putNumbers(few bool) {
	for i := range d.records() {
		for _, f := range d.layout.Key {
			v := someFloat(d.r)
			switch {
			case few && d.r.IntN(3) == 0:
				v = math.Copysign(0, d.r.Float64()-0.5)
			case few:
				v = math.Round(v)
			}
			putNumber(d.record(i)[f.Offset:][:f.Type.Size], f.Type, v, i)
		}
	}
}

// someFloat returns a random float, often a NaN with any sign and payload, or another special
// value.
func someFloat(r *rand.Rand) float64 {
	switch r.IntN(4) {
	case 0:
		return math.Float64frombits(0x7ff0_0000_0000_0000 | r.Uint64()<<63 | 1<<r.IntN(52))
	case 1:
		return specialFloats[r.IntN(len(specialFloats))]
	}
	return r.NormFloat64()
}

// putNumber writes v, or an integer near it, as a number of a type. The index of the record
// determines the bits that do not belong to the value: the padding, and which of the codes of its
// sign a decimal has.
func putNumber(dst []byte, t format.Type, v float64, index int) {
	var digits []byte // most significant first
	switch {
	case t.Kind == format.Zoned || t.Kind == format.Packed:
		putDecimal(dst, t, v, index)
		return
	case t.Kind == format.Extended:
		digits = binary.BigEndian.AppendUint32(nil, uint32(index))
		digits = append(digits, make([]byte, t.Size)...)[:t.Size-extendedBytes]
		significand, exponent := x87(v)
		digits = binary.BigEndian.AppendUint16(digits, exponent)
		digits = binary.BigEndian.AppendUint64(digits, significand)
	case t.Size == 4 && t.Kind == format.Float:
		digits = binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(v)))
	case t.Size == 8 && t.Kind == format.Float:
		digits = binary.BigEndian.AppendUint64(nil, math.Float64bits(v))
	default:
		return // as generated
	}
	copy(dst, ascending(digits, t))
}

// putDecimal writes an integer near v. Decimals have several codes for the same sign.
func putDecimal(dst []byte, t format.Type, v float64, index int) {
	number := int64(0)
	if math.Abs(v) < 1e15 {
		number = int64(v)
	}
	signs := []byte{0xa, 0xc, 0xe, 0xf}
	if math.Signbit(v) {
		signs = []byte{0xb, 0xd}
		number = -number
	}
	digits := make([]byte, format.DigitsOf(t))
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte(number % 10)
		number /= 10
	}
	format.PutDigits(dst, t, digits, signs[index%len(signs)])
}

// x87 converts a float to the 80-bit format of x86.
func x87(v float64) (significand uint64, exponent uint16) {
	if math.Signbit(v) {
		exponent = 0x8000
	}
	switch {
	case v == 0:
		return 0, exponent
	case math.IsInf(v, 0) || math.IsNaN(v):
		return 1<<63 | math.Float64bits(v)<<11, exponent | 0x7fff
	}
	fraction, power := math.Frexp(math.Abs(v))
	return uint64(math.Ldexp(fraction, 64)), exponent | uint16(power+16382)
}
