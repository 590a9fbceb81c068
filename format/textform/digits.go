package textform

import (
	"encoding/binary"
	"math/bits"
)

// Decimal digits are converted eight at a time. A word contains the digits as bytes, the first one
// in the lowest byte, with values from 0 to 9.

const (
	wordDigits = 8
	tenTo8     = 100_000_000
	tenTo16    = tenTo8 * tenTo8
	zeroDigits = 0x3030303030303030 // the characters 00000000
)

// digitsOf returns the digits of a number below 10^8, with leading zeros. Each step divides all
// groups of digits at once. The factors are reciprocals that are exact for values this small.
func digitsOf(n uint64) uint64 {
	const (
		to100 = 10486 // 2^20 / 100, exact below 43,698
		to10  = 103   // 2^10 / 10, exact below 179
	)
	fours := n/10_000 | n%10_000<<32
	hundreds := fours * to100 >> 20 & 0x0000007f_0000007f
	twos := hundreds | (fours-100*hundreds)<<16
	tens := twos * to10 >> 10 & 0x000f_000f_000f_000f
	return tens | (twos-10*tens)<<8
}

// valueOf is the inverse of digitsOf.
func valueOf(digits uint64) uint64 {
	twos := (digits*10 + digits>>8) & 0x00ff_00ff_00ff_00ff
	fours := (twos*100 + twos>>16) & 0x0000ffff_0000ffff
	return (fours*10_000 + fours>>32) & 0xffff_ffff
}

// appendUint appends a number in decimal.
func appendUint(dst []byte, n uint64) []byte {
	switch {
	case n < tenTo8:
		digits := digitsOf(n)
		const lastDigit = 1 << (64 - wordDigits)
		zeros := bits.TrailingZeros64(digits|lastDigit) / 8
		dst = binary.LittleEndian.AppendUint64(dst, (digits|zeroDigits)>>(8*zeros))
		return dst[:len(dst)-zeros]
	case n < tenTo16:
		dst = appendUint(dst, n/tenTo8)
	default:
		dst = appendUint(dst, n/tenTo16)
		dst = appendWord(dst, n/tenTo8%tenTo8)
	}
	return appendWord(dst, n%tenTo8)
}

// appendWord appends the eight digits of a number below 10^8.
func appendWord(dst []byte, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, digitsOf(n)|zeroDigits)
}

// appendInt appends a signed number in decimal.
func appendInt(dst []byte, n int64) []byte {
	if n < 0 {
		dst = append(dst, '-')
		return appendUint(dst, -uint64(n))
	}
	return appendUint(dst, uint64(n))
}

// scanBytes is the number of bytes that scanUint may read.
const scanBytes = 3 * wordDigits

var powersOfTen = [wordDigits + 1]uint64{
	1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, tenTo8,
}

// scanUint parses the decimal digits at the beginning of a text and returns their number. It
// returns 0 if there are none, and for numbers that may not fit in 64 bits.
// REQUIRES: len(text) >= scanBytes
func scanUint(text []byte) (n uint64, length int) {
	_ = text[scanBytes-1]
	for at := 0; at < scanBytes; at += wordDigits {
		digits, count := scanWord(binary.LittleEndian.Uint64(text[at:]))
		high, low := bits.Mul64(n, powersOfTen[count])
		low, carry := bits.Add64(low, valueOf(digits), 0)
		if high+carry != 0 {
			return 0, 0
		}
		n = low
		if count < wordDigits {
			return n, at + count
		}
	}
	return 0, 0
}

// scanWord returns the number of digits at the beginning of eight characters, and the digits with
// leading zeros.
func scanWord(text uint64) (digits uint64, count int) {
	const (
		lowBits   = 0x7f7f7f7f7f7f7f7f
		aboveNine = 0x7676767676767676 // 10 + 0x76 sets the highest bit of a byte
	)
	digits = text ^ zeroDigits
	others := (digits&lowBits + aboveNine | digits) &^ lowBits
	if others == 0 {
		return digits, wordDigits
	}
	count = bits.TrailingZeros64(others) / 8
	return digits << (8 * (wordDigits - count)), count
}
