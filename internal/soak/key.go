package main

import (
	"bytes"
	"fmt"
	"strings"
)

// A field is one field of a key, as in a value of -k.
type field struct {
	offset int
	kind   byte // 'u', 'i', 'f', and 'x' (a float of 80 bits) are numbers, 'b' is bytes
	size   int  // bytes, including the padding of an 'x'
	big    bool // big-endian
	desc   bool

	numeric bool // for floats: zeros are equal, NaNs are equal, and NaNs come last
}

// width returns the number of bytes that are compared.
func (f field) width() int {
	if f.kind == 'x' {
		return 10
	}
	return f.size
}

func (f field) isFloat() bool { return f.kind == 'f' || f.kind == 'x' }

// typeName returns the type for the command line.
func (f field) typeName() string {
	if f.kind == 'b' {
		return fmt.Sprint("bytes", f.size)
	}
	name := fmt.Sprintf("%c%d", f.kind, 8*f.size)
	if f.kind == 'x' {
		name = map[int]string{
			10: "f80",
			12: "f80in96",
			16: "f80in128",
		}[f.size]
	}
	if f.big {
		name += "be"
	}
	return name
}

// keyFlag returns the value of -k for the field.
func (f field) keyFlag() string {
	name := fmt.Sprintf("%d:%s", f.offset, f.typeName())
	if f.desc {
		name += ":desc"
	}
	return name
}

// appendKey appends bytes whose lexicographic order is the order of the field.
func (f field) appendKey(key, record []byte) []byte {
	start := len(key)
	for i := range f.width() {
		key = append(key, record[f.offset+f.bytePosition(i)])
	}
	digits := key[start:]
	switch {
	case f.numeric && f.isNaN(digits):
		copy(digits, bytes.Repeat([]byte{0xff}, len(digits)))
		return key
	case f.numeric && isZero(digits):
		clear(digits)
		digits[0] = 0x80
	// Of two negative numbers, the one with the larger magnitude is smaller.
	case f.isFloat() && digits[0] >= 0x80:
		invert(digits)
	case f.isFloat() || f.kind == 'i':
		digits[0] ^= 0x80
	}
	if f.desc {
		invert(digits)
	}
	return key
}

// bytePosition returns the position of the i-th most significant byte.
func (f field) bytePosition(i int) int {
	if f.kind == 'b' || f.big {
		return f.size - f.width() + i
	}
	return f.width() - 1 - i
}

// isNaN reports whether the bytes of a float represent a NaN: the magnitude is larger than that
// of infinity.
func (f field) isNaN(digits []byte) bool {
	infinity := map[int]string{
		4:  "\x7f\x80",
		8:  "\x7f\xf0",
		10: "\x7f\xff\x80",
	}[f.width()]
	infinity += strings.Repeat("\x00", f.width()-len(infinity))
	magnitude := append([]byte{digits[0] & 0x7f}, digits[1:]...)
	return string(magnitude) > infinity
}

// isZero reports whether the bytes of a float represent zero, with either sign.
func isZero(digits []byte) bool {
	return digits[0]&0x7f == 0 && len(bytes.Trim(digits[1:], "\x00")) == 0
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// compareKeys compares two records by all fields.
func compareKeys(fields []field, a, b []byte) int {
	var first, second []byte
	for _, f := range fields {
		first = f.appendKey(first, a)
		second = f.appendKey(second, b)
	}
	return bytes.Compare(first, second)
}
