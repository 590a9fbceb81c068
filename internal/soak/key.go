package main

import (
	"bytes"
	"fmt"
	"strings"
)

// field is one field of a key, as -k spells it.
type field struct {
	offset int
	kind   byte // 'u', 'i', 'f' and 'x', a float of 80 bits, are numbers, 'b' is bytes
	size   int  // bytes, with the padding of an 'x'
	big    bool // big-endian
	desc   bool

	numeric bool // of floats: zeros are equal, and so are NaNs, which are last
}

// width is how many bytes of the field are compared.
func (f field) width() int {
	if f.kind == 'x' {
		return 10
	}
	return f.size
}

func (f field) isFloat() bool { return f.kind == 'f' || f.kind == 'x' }

// typeName spells the type for the command.
func (f field) typeName() string {
	if f.kind == 'b' {
		return fmt.Sprint("bytes", f.size)
	}
	name := fmt.Sprintf("%c%d", f.kind, 8*f.size)
	if f.kind == 'x' {
		name = map[int]string{10: "f80", 12: "f80in96", 16: "f80in128"}[f.size]
	}
	if f.big {
		name += "be"
	}
	return name
}

// flag is the value of -k for the field.
func (f field) flag() string {
	name := fmt.Sprintf("%d:%s", f.offset, f.typeName())
	if f.desc {
		name += ":desc"
	}
	return name
}

// appendKey appends bytes whose order as bytes is the order of the field.
func (f field) appendKey(key, record []byte) []byte {
	start := len(key)
	for i := range f.width() {
		key = append(key, record[f.offset+f.place(i)])
	}
	digits := key[start:]
	switch {
	case f.numeric && f.isNaN(digits):
		copy(digits, bytes.Repeat([]byte{0xff}, len(digits)))
		return key
	case f.numeric && isZero(digits):
		clear(digits)
		digits[0] = 0x80
	case f.isFloat() && digits[0] >= 0x80: // of two negative numbers the larger magnitude is the lesser
		invert(digits)
	case f.isFloat() || f.kind == 'i':
		digits[0] ^= 0x80
	}
	if f.desc {
		invert(digits)
	}
	return key
}

// place is where the digit stands that is the i-th from the most significant one.
func (f field) place(i int) int {
	if f.kind == 'b' || f.big {
		return f.size - f.width() + i
	}
	return f.width() - 1 - i
}

// isNaN reports whether the digits of a float are those of a NaN: its magnitude is above that of an infinity.
func (f field) isNaN(digits []byte) bool {
	infinity := map[int]string{4: "\x7f\x80", 8: "\x7f\xf0", 10: "\x7f\xff\x80"}[f.width()]
	infinity += strings.Repeat("\x00", f.width()-len(infinity))
	magnitude := append([]byte{digits[0] & 0x7f}, digits[1:]...)
	return string(magnitude) > infinity
}

// isZero reports whether the digits of a float are those of a zero, of any sign.
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
		first, second = f.appendKey(first, a), f.appendKey(second, b)
	}
	return bytes.Compare(first, second)
}
