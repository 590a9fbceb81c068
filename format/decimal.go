package format

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
)

// A decimalPiece computes a piece of the normalized form of a number in one of the decimal
// formats of mainframes. Both have a sign and N decimal digits:
//
//	zoned, N bytes         zone: 4 │ digit: 4 │ … │ sign: 4 │ last digit: 4
//	packed, (N+1)/2 bytes  digit: 4 │ digit: 4 │ … │ last digit: 4 │ sign: 4
//
// The normalized form has the digits at its end and a sign bit before them, and all bits of a
// negative number are flipped:
//
//	sign: 1 │ zeros │ digit: 4 │ digit: 4 │ …
//
// So keys sort by their values. Zones are not compared, all codes of one sign are equal, and −0
// equals 0. A digit of more than 9 is invalid on the machine, and is ordered after 9.
//
// The sign codes come from IBM's z/Architecture Principles of Operation, chapter 8, Decimal-Number
// Codes: A, C, E and F are plus, B and D are minus. That book declares other codes invalid. DFSORT
// accepts them (Application Programming Guide, Data format descriptions): 1, 3, 5, 7 and 9 are
// minus, 0, 2, 4, 6 and 8 are plus. There is one exception here: 3 is plus, because zoned numbers
// in ASCII use it. In ASCII, GnuCOBOL and Micro Focus COBOL use 7 for minus.
type decimalPiece struct {
	field Field
	start int // index of the first byte of the piece in the normalized form
	size  int // in bytes
}

// The largest decimals have 31 digits, as in COBOL and DFSORT.
const (
	maxZonedBytes  = 31
	maxPackedBytes = 16
)

// zonedKeyBytes returns the size of the normalized form of a zoned number of n bytes: a half byte
// for each digit and one for the sign.
func zonedKeyBytes(n int) int { return (n + 2) / 2 }

// minusSigns has a bit for each sign code that means minus.
const minusSigns = 1<<0x1 | 1<<0x5 | 1<<0x7 | 1<<0x9 | 1<<0xB | 1<<0xD

func isMinus(sign byte) bool { return minusSigns>>sign&1 != 0 }

// value returns the piece of a record's key.
func (d *decimalPiece) value(rec []byte) uint64 {
	t := d.field.Type
	high, low, minus := readDecimal(rec[d.field.Offset:][:t.Size], t.Kind)
	if high|low == 0 {
		minus = false
	}

	keyBits := 8 * t.KeyBytes()
	if keyBits > 64 {
		high |= 1 << (keyBits - 65)
	} else {
		low |= 1 << (keyBits - 1)
	}
	if minus != d.field.Desc {
		high = ^high
		low = ^low
	}
	return shifted(high, low, keyBits-8*(d.start+d.size)) & lowBits(8*d.size)
}

// shifted returns the low 64 bits of a number of 128 bits that is shifted to the right.
func shifted(high, low uint64, shift int) uint64 {
	if shift == 0 {
		return low
	}
	return low>>shift | high<<(64-shift)
}

// readDecimal returns the digits of a decimal, 4 bits each, as a number of 128 bits, and its sign.
func readDecimal(b []byte, kind Kind) (high, low uint64, minus bool) {
	last := b[len(b)-1]
	if kind == Packed {
		for _, c := range b {
			high = high<<8 | low>>56
			low = low<<8 | uint64(c)
		}
		return high >> 4, low>>4 | high<<60, isMinus(last & 15)
	}

	for _, c := range b {
		high = high<<4 | low>>60
		low = low<<4 | uint64(c&15)
	}
	return high, low, isMinus(last >> 4)
}

// DigitsOf returns the number of digits of a decimal type.
func DigitsOf(t Type) int {
	if t.Kind == Packed {
		return 2*t.Size - 1
	}
	return t.Size
}

// PutDecimal encodes a value as a decimal of a type, with the sign codes C and D. REQUIRES: the
// type has enough digits
func PutDecimal(dst []byte, t Type, value int64) {
	sign := byte(0xC)
	magnitude := uint64(value)
	if value < 0 {
		sign = 0xD
		magnitude = -magnitude
	}
	var digits [maxZonedBytes]byte
	n := DigitsOf(t)
	for i := n - 1; i >= 0; i-- {
		digits[i] = byte(magnitude % 10)
		magnitude /= 10
	}
	PutDigits(dst, t, digits[:n], sign)
}

// PutDigits encodes digits, the most significant first, as a decimal of a type with a sign code.
// REQUIRES: len(digits) == DigitsOf(t), len(dst) == t.Size
func PutDigits(dst []byte, t Type, digits []byte, sign byte) {
	if t.Kind == Zoned {
		for i, digit := range digits {
			dst[i] = 0xF0 | digit
		}
		last := len(digits) - 1
		dst[last] = sign<<4 | digits[last]
		return
	}
	for i := range dst {
		if 2*i+1 < len(digits) {
			dst[i] = digits[2*i]<<4 | digits[2*i+1]
		} else {
			dst[i] = digits[2*i]<<4 | sign
		}
	}
}

// generatedBits returns the number of bits of generated numbers: the most that fit into the digits,
// up to 60. Only the first piece has them.
func (d *decimalPiece) generatedBits() uint {
	const most = 60
	if d.start > 0 {
		return 0
	}
	limit := uint64(1)
	for range min(DigitsOf(d.field.Type), 18) {
		limit *= 10
	}
	return min(uint(bits.Len64(limit)), most)
}

// decimalText formats the normalized form of an ascending decimal.
func decimalText(key []byte) string {
	minus := key[0] < 0x80
	if minus {
		invert(key)
	}
	key[0] &= 0x7f

	var buffer [16]byte
	copy(buffer[16-len(key):], key)
	text := strconv.FormatUint(binary.BigEndian.Uint64(buffer[:]), 16)
	low := binary.BigEndian.Uint64(buffer[8:])
	if text == "0" {
		text = strconv.FormatUint(low, 16)
	} else {
		text += fmt.Sprintf("%016x", low)
	}
	for _, digit := range []byte(text) {
		if digit > '9' {
			return fmt.Sprintf("invalid(%s)", text)
		}
	}
	if minus {
		return "-" + text
	}
	return text
}
