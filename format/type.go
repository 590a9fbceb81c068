package format

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind says how the bytes of a key type are ordered.
type Kind uint8

// The kinds of key.
const (
	Unsigned Kind = iota // unsigned integer
	Signed               // two's complement integer
	Float                // IEEE 754 binary float in totalOrder
	Bytes                // bytes compared as memcmp does
)

// MaxKeyBytes bounds the width of one bytesN field and of a whole normalized key.
const MaxKeyBytes = 1 << 16

// Type is the type of one key field: how many bytes it has and how they are ordered.
// The zero Type is invalid.
type Type struct {
	Kind      Kind
	Size      int  // bytes
	BigEndian bool // of numbers; Bytes has no byte order
}

var numberTypes = map[string]Type{
	"u8": {Unsigned, 1, false}, "u16": {Unsigned, 2, false}, "u32": {Unsigned, 4, false},
	"u64": {Unsigned, 8, false}, "u128": {Unsigned, 16, false},
	"i8": {Signed, 1, false}, "i16": {Signed, 2, false}, "i32": {Signed, 4, false},
	"i64": {Signed, 8, false}, "i128": {Signed, 16, false},
	"f32": {Float, 4, false}, "f64": {Float, 8, false},
}

// ParseType reads a type as the command line spells it: u8 … u128, i8 … i128, f32, f64,
// each with an optional suffix "be", and bytesN.
func ParseType(s string) (Type, error) {
	if digits, ok := strings.CutPrefix(s, "bytes"); ok {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || n > MaxKeyBytes {
			return Type{}, fmt.Errorf("type %q: bytesN needs N from 1 to %d", s, MaxKeyBytes)
		}
		return Type{Kind: Bytes, Size: n}, nil
	}
	name, bigEndian := strings.CutSuffix(s, "be")
	t, ok := numberTypes[name]
	if !ok {
		return Type{}, fmt.Errorf("unknown type %q: use u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 "+
			"(each also with be) or bytesN", s)
	}
	t.BigEndian = bigEndian && t.Size > 1
	return t, nil
}

// String spells the type as ParseType reads it.
func (t Type) String() string {
	if t.Kind == Bytes {
		return "bytes" + strconv.Itoa(t.Size)
	}
	name := "uif"[t.Kind:t.Kind+1] + strconv.Itoa(8*t.Size)
	if t.BigEndian {
		name += "be"
	}
	return name
}

// littleEndian reports whether the bytes of the type stand in the opposite order to that of its normalized key.
func (t Type) littleEndian() bool { return t.Kind != Bytes && !t.BigEndian && t.Size > 1 }
