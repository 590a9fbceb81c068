package format

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// A wideFloat computes a piece of the normalized form of an Extended. Its 80 bits are
//
//	sign: 1 │ exponent: 15 │ leading bit: 1 │ fraction: 63
//
// Unlike other floats, it stores the leading bit of its significand. The order of the bits is
// totalOrder for every encoding that processors produce. The other encodings are sorted by their
// bits as well. A pseudo-denormal (exponent 0, leading bit 1) comes before the number with
// exponent 1 that has the same value. An unnormal, a pseudo-infinity or a pseudo-NaN (any other
// exponent, leading bit 0) comes before all numbers of its exponent, or before Inf.
type wideFloat struct {
	field Field
	start int  // offset of the 10 bytes in the record
	low   bool // the last 2 bytes of the normalized form, rather than its first 8
}

// extendedStart returns the offset of the value of an Extended, after the padding of a big-endian
// one.
func (f Field) extendedStart() int {
	return f.Offset + min(f.Type.Place(0), f.Type.Place(extendedBytes-1))
}

// value returns the piece of a record's key.
func (w *wideFloat) value(rec []byte) uint64 {
	b := (*[extendedBytes]byte)(rec[w.start:])
	var high, low uint64 // sign and exponent; significand
	if w.field.Type.BigEndian {
		high = uint64(binary.BigEndian.Uint16(b[:]))
		low = binary.BigEndian.Uint64(b[2:])
	} else {
		high = uint64(binary.LittleEndian.Uint16(b[8:]))
		low = binary.LittleEndian.Uint64(b[:])
	}
	high, low = w.field.normalizeWide(high, low)
	if w.low {
		return low & 0xffff
	}
	return high<<48 | low>>16
}

// normalizeWide normalizes the bits of an Extended, as a piece does for other floats. The parts
// have 16 and 64 bits.
func (f Field) normalizeWide(high, low uint64) (newHigh, newLow uint64) {
	const sign = 1 << 15
	if (high&sign != 0) != f.Desc {
		low = ^low
	}
	if high&sign != 0 {
		high = ^high
	} else {
		high ^= sign
	}

	if f.Desc {
		high = ^high
	}
	high &= 0xffff
	if f.isNumeric() && high == sign-1 &&
		low == math.MaxUint64 { // the lesser zero
		high = sign
		low = 0
	}

	var carry uint64
	least, most := f.countNaNs()
	switch f.nanOrder() {
	case NaNFirst:
		low, carry = bits.Add64(low, most, 0)
		high += carry
	case NaNLast:
		low, carry = bits.Sub64(low, least, 0)
		high -= carry
	}

	high &= 0xffff
	if f.isNumeric() {
		nans := least + most
		switch {
		case f.nanOrder() == NaNFirst && high == 0 && low < nans:
			low = 0
		case f.nanOrder() == NaNLast && high == 0xffff && ^low < nans:
			low = math.MaxUint64
		}
	}

	return high, low
}

// numericFloats maps both zeros of a float of at most 8 bytes to one normalized number, and all
// NaNs to another.
type numericFloats struct {
	zero            uint64 // the lesser zero, which becomes the next number
	first, last     uint64 // numbers before first and after last are NaNs
	lowNaN, highNaN uint64 // replacements for NaNs before first and after last
}

// newNumericFloats returns the mapping for a field whose normalized numbers have the bits of
// mask.
func newNumericFloats(f Field, mask uint64) *numericFloats {
	least, most := f.countNaNs()
	n := &numericFloats{
		zero:    (mask>>1 + f.rotation()) & mask,
		last:    mask,
		highNaN: mask,
	}
	if f.nanOrder() == NaNFirst {
		n.first = least + most
	} else {
		n.last = mask - least - most
	}

	return n
}

func (n *numericFloats) value(v uint64) uint64 {
	if v == n.zero {
		v++
	}
	if v < n.first {
		v = n.lowNaN
	}
	if v > n.last {
		v = n.highNaN
	}
	return v
}

// values replaces each number by its value.
func (n *numericFloats) values(numbers []uint64) {
	for i, v := range numbers {
		numbers[i] = n.value(v)
	}
}

// wideBits returns the bits of an Extended with the value of a float64 that is a number.
func wideBits(v float64) (high uint16, low uint64) {
	b := math.Float64bits(v)
	exponent := b >> 52 & 0x7ff
	fraction := b & (1<<52 - 1)
	high = uint16(b >> 63 << 15)

	switch {
	case exponent > 0:
		return high | uint16(exponent-1023+16383), 1<<63 | fraction<<11
	case fraction > 0: // subnormal only as a float64
		up := bits.LeadingZeros64(fraction)
		return high | uint16(16383-1022-(up-11)), fraction << up
	}

	return high, 0
}

// wideValue returns the value of the bits of an Extended. exact is nil for NaN and for encodings
// that no processor produces.
func wideValue(high uint16, low uint64) (exact *big.Float, value float64) {
	exponent := int(high & 0x7fff)
	negative := high>>15 != 0
	switch {
	case exponent == 0x7fff && low == 1<<63:
		value = math.Inf(1)
		if negative {
			value = math.Inf(-1)
		}
		return new(big.Float).SetInf(negative), value
	case exponent != 0 && low>>63 == 0, exponent == 0x7fff:
		return nil, math.NaN()
	}
	// a subnormal has few digits
	exact = new(big.Float).SetPrec(uint(max(bits.Len64(low), 1))).SetUint64(low)
	exact.SetMantExp(exact, max(exponent, 1)-16383-63)
	if negative {
		exact.Neg(exact)
	}
	value, _ = exact.Float64()
	return exact, value
}

// wideText formats the bits of an Extended.
func wideText(high uint16, low uint64) string {
	exact, _ := wideValue(high, low)
	switch {
	case exact != nil:
		return exact.Text('g', -1)
	case low>>63 == 0:
		return fmt.Sprintf("invalid(0x%04x%016x)", high, low)
	}
	return fmt.Sprintf("NaN(0x%04x%016x)", high, low)
}
