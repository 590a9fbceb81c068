package textform

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"github.com/extsort/extsort/format"
)

// load reads an unsigned number of at most 8 bytes.
func load(value []byte, bigEndian bool) uint64 {
	switch {
	case bigEndian:
		n := uint64(0)
		for _, c := range value {
			n = n<<8 | uint64(c)
		}
		return n
	case len(value) == 8:
		return binary.LittleEndian.Uint64(value)
	case len(value) == 4:
		return uint64(binary.LittleEndian.Uint32(value))
	}
	n := uint64(0)
	for i, c := range value {
		n |= uint64(c) << (8 * i)
	}
	return n
}

// store writes the low bytes of a number.
func store(value []byte, bigEndian bool, n uint64) {
	if !bigEndian && len(value) == 8 {
		binary.LittleEndian.PutUint64(value, n)
		return
	}
	for i := range value {
		at := i
		if bigEndian {
			at = len(value) - 1 - i
		}
		value[at] = byte(n >> (8 * i))
	}
}

// signExtend returns a signed number whose sign is in the highest bit of size bytes.
func signExtend(n uint64, size int) int64 {
	shift := 64 - 8*size
	return int64(n<<shift) >> shift
}

func unsignedCodec(t format.Type) codec {
	size := t.Size
	return codec{
		isNumber: true,
		encode: func(dst, value []byte) []byte {
			return appendUint(dst, load(value, t.BigEndian))
		},
		scan: func(value, text []byte) int {
			n, length := scanUint(text)
			if size < 8 && n>>(8*size) != 0 {
				return 0
			}
			store(value, t.BigEndian, n)
			return length
		},
		decode: func(value, text []byte) problem {
			n, negative, fault := parseInteger(text)
			switch {
			case fault != "":
				return fault
			case negative && n != 0, size < 8 && n>>(8*size) != 0:
				return outOfRange
			}
			store(value, t.BigEndian, n)
			return ""
		},
	}
}

func signedCodec(t format.Type) codec {
	size := t.Size
	limit := uint64(1) << (8*size - 1)
	return codec{
		isNumber: true,
		encode: func(dst, value []byte) []byte {
			return appendInt(dst, signExtend(load(value, t.BigEndian), size))
		},
		scan: func(value, text []byte) int {
			if text[0] == '-' {
				n, length := scanUint(text[1:])
				if length == 0 || n > limit {
					return 0
				}
				store(value, t.BigEndian, -n)
				return 1 + length
			}
			n, length := scanUint(text)
			if n >= limit {
				return 0
			}
			store(value, t.BigEndian, n)
			return length
		},
		decode: func(value, text []byte) problem {
			n, negative, fault := parseInteger(text)
			switch {
			case fault != "":
				return fault
			case negative && n > limit, !negative && n >= limit:
				return outOfRange
			case negative:
				n = -n
			}
			store(value, t.BigEndian, n)
			return ""
		},
	}
}

// parseInteger parses a decimal number, or one in hexadecimal after 0x, of at most 64 bits.
func parseInteger(text []byte) (n uint64, negative bool, fault problem) {
	digits := text
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	if len(digits) == 0 {
		return 0, false, notANumber
	}
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		n, err := strconv.ParseUint(string(digits[2:]), 16, 64)
		return n, negative, problemOf(err)
	}

	const safeDigits = 19 // every number of up to 19 digits fits in 64 bits
	if len(digits) > safeDigits {
		n, err := strconv.ParseUint(string(digits), 10, 64)
		return n, negative, problemOf(err)
	}
	for _, c := range digits {
		digit := c - '0'
		if digit > 9 {
			return 0, false, notANumber
		}
		n = 10*n + uint64(digit)
	}
	return n, negative, ""
}

// problemOf returns the problem of a text that strconv failed to parse with err, or "" if err is
// nil.
func problemOf(err error) problem {
	switch number, ok := err.(*strconv.NumError); {
	case err == nil:
		return ""
	case ok && number.Err == strconv.ErrRange:
		return outOfRange
	}
	return notANumber
}

// tenTo19 is the greatest power of ten below 2^64.
const tenTo19 = 1e19

// wideCodec returns the codec of integers of 128 bits.
func wideCodec(t format.Type) codec {
	isSigned := t.Kind == format.Signed
	halves := func(value []byte) (high, low []byte) {
		if t.BigEndian {
			return value[:8], value[8:16]
		}
		return value[8:16], value[:8]
	}
	return codec{
		isNumber: true,
		encode: func(dst, value []byte) []byte {
			h, l := halves(value)
			high := load(h, t.BigEndian)
			low := load(l, t.BigEndian)
			if isSigned && int64(high) < 0 {
				dst = append(dst, '-')
				high, low = negated(high, low)
			}
			return appendWide(dst, high, low)
		},
		decode: func(value, text []byte) problem {
			high, low, negative, fault := parseWide(text)
			if fault != "" {
				return fault
			}
			const limit = 1 << 63
			isZero := high|low == 0
			switch {
			case !isSigned && negative && !isZero,
				isSigned && !negative && high >= limit,
				isSigned && negative &&
					(high > limit || high == limit && low > 0):
				return outOfRange
			case negative:
				high, low = negated(high, low)
			}
			h, l := halves(value)
			store(h, t.BigEndian, high)
			store(l, t.BigEndian, low)
			return ""
		},
	}
}

func negated(high, low uint64) (newHigh, newLow uint64) {
	newLow, borrow := bits.Sub64(0, low, 0)
	newHigh, _ = bits.Sub64(0, high, borrow)
	return newHigh, newLow
}

// appendWide appends a number of 128 bits: at most three groups of 19 digits.
func appendWide(dst []byte, high, low uint64) []byte {
	if high == 0 {
		return appendUint(dst, low)
	}
	top, rest := bits.Div64(0, high, tenTo19)
	middle, last := bits.Div64(rest, low, tenTo19)
	if over, group := bits.Div64(top, middle, tenTo19); over > 0 { // 2^128 has 39 digits
		dst = appendUint(dst, over)
		dst = appendPadded(dst, group)
	} else {
		dst = appendUint(dst, group)
	}
	return appendPadded(dst, last)
}

// appendPadded appends a number with 19 digits.
func appendPadded(dst []byte, n uint64) []byte {
	const width = 19
	var digits [width]byte
	for i := width - 1; i >= 0; i-- {
		digits[i] = '0' + byte(n%10)
		n /= 10
	}
	return append(dst, digits[:]...)
}

func parseWide(text []byte) (high, low uint64, negative bool, fault problem) {
	digits := text
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		negative = digits[0] == '-'
		digits = digits[1:]
	}
	base := uint64(10)
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		base = 16
		digits = digits[2:]
	}
	if len(digits) == 0 {
		return 0, 0, false, notANumber
	}
	for _, c := range digits {
		digit := digitOf(c)
		if digit >= base {
			return 0, 0, false, notANumber
		}
		overflow, newHigh := bits.Mul64(high, base)
		carry, newLow := bits.Mul64(low, base)
		newLow, more := bits.Add64(newLow, digit, 0)
		newHigh, over := bits.Add64(newHigh, carry, more)
		if overflow|over != 0 {
			return 0, 0, false, outOfRange
		}
		high = newHigh
		low = newLow
	}
	return high, low, negative, ""
}

// digitOf returns the value of a hexadecimal digit, or a large number.
func digitOf(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return math.MaxUint64
}

func timeCodec(t format.Type) codec {
	return codec{
		encode: func(dst, value []byte) []byte {
			return format.AppendTime(
				dst,
				int64(load(value, t.BigEndian)),
				t.Form,
			)
		},
		decode: func(value, text []byte) problem {
			n, ok := format.ParseTime(string(text), t.Form)
			if !ok {
				return "is neither a time such as 2026-11-27T12:45:00Z nor a number"
			}
			store(value, t.BigEndian, uint64(n))
			return ""
		},
	}
}
