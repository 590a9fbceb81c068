package format

import (
	"fmt"
	"slices"
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

const kindLetters = "uif"

// MaxKeyBytes bounds the width of one bytesN field and of a whole normalized key.
const MaxKeyBytes = 1 << 16

// Type is the type of one key field: how many bytes it has and how they are ordered.
// The zero Type is invalid.
type Type struct {
	Kind      Kind
	Size      int  // bytes
	BigEndian bool // of numbers; Bytes has no byte order
}

// NumberTypes are the names of the types that are numbers, of which each, with "be" behind it, is big-endian.
var NumberTypes = strings.Fields("u8 u16 u24 u32 u40 u48 u64 u128 i8 i16 i32 i64 i128 f32 f64")

// ParseType reads a type as the command line spells it: u8 … u128, u24, u40 and u48 among them, i8 … i128, f32, f64,
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
	if !slices.Contains(NumberTypes, name) {
		return Type{}, fmt.Errorf("unknown type %q: use %s (each also with be) or bytesN", s, strings.Join(NumberTypes, " "))
	}
	bits, err := strconv.Atoi(name[1:])
	return Type{Kind(strings.IndexByte(kindLetters, name[0])), bits / 8, bigEndian && bits > 8}, err
}

// String spells the type as ParseType reads it.
func (t Type) String() string {
	if t.Kind == Bytes {
		return "bytes" + strconv.Itoa(t.Size)
	}
	name := kindLetters[t.Kind:t.Kind+1] + strconv.Itoa(8*t.Size)
	if t.BigEndian {
		name += "be"
	}
	return name
}

// littleEndian reports whether the bytes of the type stand in the opposite order to that of its normalized key.
func (t Type) littleEndian() bool { return t.Kind != Bytes && !t.BigEndian && t.Size > 1 }
