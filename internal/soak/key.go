package main

import (
	"bytes"
	"fmt"
)

// field is one field of a key, as -k spells it.
type field struct {
	offset int
	kind   byte // 'u', 'i' and 'f' are numbers, 'b' is bytes
	size   int  // bytes
	big    bool // big-endian
	desc   bool
}

// typeName spells the type for the command.
func (f field) typeName() string {
	if f.kind == 'b' {
		return fmt.Sprint("bytes", f.size)
	}
	name := fmt.Sprintf("%c%d", f.kind, 8*f.size)
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
	for i := range f.size {
		key = append(key, record[f.offset+f.place(i)])
	}
	digits := key[start:]
	switch {
	case f.kind == 'f' && digits[0] >= 0x80: // of two negative numbers the larger magnitude is the lesser
		invert(digits)
	case f.kind == 'f' || f.kind == 'i':
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
		return i
	}
	return f.size - 1 - i
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
