package format

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
)

// A sum is an integer in two's complement of 192 bits, or a float. It is large enough for the total
// of 2^63 integers of 16 bytes.
type sum struct {
	low, middle, high uint64
	float             float64
	isNaT             bool // a value was NaT; the integer is then not used
}

// load returns the value of a field as a sum.
func (s *foldStep) load(b []byte) sum {
	t := s.from.Type
	switch {
	case t.IsFloat():
		return sum{float: s.loadFloat(b)}
	case t.Size > 8:
		return loadWide(t, b)
	}
	v, sign := s.loadWord(b)
	n := sum{low: v, middle: sign, high: sign}
	n.isNaT = s.hasNaT && n.isLeast()
	return n
}

// loadWord returns an integer of at most 8 bytes, and a word filled with copies of its sign bit.
func (s *foldStep) loadWord(b []byte) (v, sign uint64) {
	v = s.value.load(b)
	if s.from.Type.Kind == Signed {
		v = uint64(int64(v<<s.value.signShift) >> s.value.signShift)
		sign = uint64(int64(v) >> 63)
	}
	return v, sign
}

// loadWide returns an integer of 16 bytes.
func loadWide(t Type, b []byte) sum {
	n := sum{low: binary.LittleEndian.Uint64(b), middle: binary.LittleEndian.Uint64(b[8:])}
	if t.BigEndian {
		n = sum{low: binary.BigEndian.Uint64(b[8:]), middle: binary.BigEndian.Uint64(b)}
	}
	if t.Kind == Signed {
		n.high = uint64(int64(n.middle) >> 63)
	}
	return n
}

// loadFloat returns a float of at most 8 bytes.
func (s *foldStep) loadFloat(b []byte) float64 {
	t := s.from.Type
	number := uint64(0)
	for i := range t.Size {
		at := t.Size - 1 - i
		if t.BigEndian {
			at = i
		}
		number = number<<8 | uint64(b[at])
	}
	switch {
	case t.Kind == Brain:
		return float64(math.Float32frombits(uint32(number) << 16))
	case t.Size == 8:
		return math.Float64frombits(number)
	case t.Size == 4:
		return float64(math.Float32frombits(uint32(number)))
	}
	return halfFloat(uint16(number))
}

// halfFloat returns the value of an IEEE 754 binary16.
func halfFloat(b uint16) float64 {
	exponent := int(b >> 10 & 0x1f)
	fraction := float64(b & 0x3ff)
	value := math.Ldexp(fraction, -24)
	switch {
	case exponent == 0x1f && fraction != 0:
		value = math.NaN()
	case exponent == 0x1f:
		value = math.Inf(1)
	case exponent > 0:
		value = math.Ldexp(fraction+1024, exponent-25)
	}
	if b&0x8000 != 0 {
		return -value
	}
	return value
}

// add adds two sums of the same kind.
func (n *sum) add(m sum) {
	var carry uint64
	n.low, carry = bits.Add64(n.low, m.low, 0)
	n.middle, carry = bits.Add64(n.middle, m.middle, carry)
	n.high, _ = bits.Add64(n.high, m.high, carry)
	n.float += m.float
	n.isNaT = n.isNaT || m.isNaT
}

// addAll adds the values of one field of all records, in their order.
func (n *sum) addAll(s *foldStep, recs []byte, size int) {
	t := s.from.Type
	if t.IsFloat() || t.Size > 8 || s.hasNaT {
		for at := s.from.Offset; at < len(recs); at += size {
			n.add(s.load(recs[at:]))
		}
		return
	}

	total := *n // in registers
	for at := s.from.Offset; at < len(recs); at += size {
		v, sign := s.loadWord(recs[at:])
		var carry uint64
		total.low, carry = bits.Add64(total.low, v, 0)
		total.middle, carry = bits.Add64(total.middle, sign, carry)
		total.high, _ = bits.Add64(total.high, sign, carry)
	}
	*n = total
}

// isLeast reports whether an integer is the least one of 8 bytes, which NaT has.
func (n *sum) isLeast() bool { return n.low == natBits && ^n.middle|^n.high == 0 }

// natBits are the bits of NaT.
const natBits = 1 << 63

// fits reports whether an integer is a value of a type.
func (n *sum) fits(t Type) bool {
	if n.isNaT {
		return true
	}
	sign := uint64(0)
	if t.Kind == Signed {
		sign = uint64(int64(n.high) >> 63)
	}
	if n.high != sign {
		return false
	}
	top := n.middle // the word with the most significant byte of the type
	bitsOfTop := 8*t.Size - 64
	if t.Size <= 8 {
		if n.middle != sign {
			return false
		}
		top = n.low
		bitsOfTop = 8 * t.Size
	}
	unused := 64 - bitsOfTop
	if t.Kind == Signed {
		return int64(top)<<unused>>unused == int64(top) && uint64(int64(top)>>63) == sign
	}
	return top<<unused>>unused == top
}

// put stores the sum as a value of the type of the result.
func (n *sum) put(s *foldStep, to []byte) {
	t := s.to.Type
	low := n.low
	if t.IsFloat() {
		low = floatBits(n.float, t.Size)
	}
	if n.isNaT {
		low = natBits
	}
	var number [16]byte
	binary.LittleEndian.PutUint64(number[:], low)
	binary.LittleEndian.PutUint64(number[8:], n.middle)
	for i := range to {
		at := i
		if t.BigEndian {
			at = len(to) - 1 - i
		}
		to[i] = number[at]
	}
}

// floatBits returns the bits of a float of 4 or 8 bytes. All NaNs have the same bits, because the
// bits of a NaN after an addition depend on the processor.
func floatBits(f float64, size int) uint64 {
	switch {
	case size == 8 && math.IsNaN(f):
		return 0x7ff8 << 48
	case size == 8:
		return math.Float64bits(f)
	case math.IsNaN(f):
		return 0x7fc0 << 16
	}
	return uint64(math.Float32bits(float32(f)))
}

// number returns an integer sum.
func (n *sum) number() *big.Int {
	magnitude := *n
	isNegative := int64(n.high) < 0
	if isNegative {
		magnitude = sum{low: ^n.low, middle: ^n.middle, high: ^n.high}
		magnitude.add(sum{low: 1})
	}
	number := new(big.Int)
	for _, word := range []uint64{magnitude.high, magnitude.middle, magnitude.low} {
		number.Lsh(number, 64)
		number.Or(number, new(big.Int).SetUint64(word))
	}
	if isNegative {
		number.Neg(number)
	}
	return number
}
