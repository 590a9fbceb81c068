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
	Brain                // the more significant half of a 32-bit Float (bfloat16), in the same order
	UCS                  // characters of 4 bytes each, by their code points
	Bytes                // bytes compared as memcmp does
)

var kindNames = []string{"u", "i", "f", "bf"}

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
var NumberTypes = strings.Fields("u8 u16 u24 u32 u40 u48 u64 u128 i8 i16 i32 i64 i128 f16 bf16 f32 f64")

// ParseType reads a type as the command line spells it: u8 … u128, u24, u40 and u48 among them, i8 … i128, f16, bf16,
// f32, f64 and ucsN, which has N characters, each with an optional suffix "be", and bytesN.
func ParseType(s string) (Type, error) {
	if digits, ok := strings.CutPrefix(s, "bytes"); ok {
		n, err := parseCount(s, "bytesN", digits, MaxKeyBytes)
		return Type{Kind: Bytes, Size: n}, err
	}
	name, bigEndian := strings.CutSuffix(s, "be")
	if digits, ok := strings.CutPrefix(name, "ucs"); ok {
		n, err := parseCount(s, "ucsN", digits, MaxKeyBytes/ucsBytes)
		return Type{UCS, n * ucsBytes, bigEndian}, err
	}
	if !slices.Contains(NumberTypes, name) {
		return Type{}, fmt.Errorf("unknown type %q: use %s (each also with be), ucsN or bytesN",
			s, strings.Join(NumberTypes, " "))
	}
	letters := strings.TrimRight(name, "0123456789")
	bits, err := strconv.Atoi(name[len(letters):])
	return Type{Kind(slices.Index(kindNames, letters)), bits / 8, bigEndian && bits > 8}, err
}

// ucsBytes is the size of a character.
const ucsBytes = 4

// parseCount reads the N of a type that is called form.
func parseCount(s, form, digits string, most int) (int, error) {
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("type %q: %s needs N from 1 to %d", s, form, most)
	}
	return n, nil
}

// String spells the type as ParseType reads it.
func (t Type) String() string {
	var name string
	switch t.Kind {
	case Bytes:
		return "bytes" + strconv.Itoa(t.Size)
	case UCS:
		name = "ucs" + strconv.Itoa(t.Size/ucsBytes)
	default:
		name = kindNames[t.Kind] + strconv.Itoa(8*t.Size)
	}
	if t.BigEndian {
		name += "be"
	}
	return name
}

// IsFloat reports whether the type has NaNs and infinities.
func (t Type) IsFloat() bool { return t.Kind == Float || t.Kind == Brain }

// fractionBits is how many bits of a float are its fraction; 0: it is none.
func (t Type) fractionBits() uint {
	switch t.Kind {
	case Float:
		return map[int]uint{2: 10, 4: 23, 8: 52}[t.Size]
	case Brain:
		return 7
	}
	return 0
}

// littleEndian reports whether the bytes of the type stand in the opposite order to that of its normalized key.
func (t Type) littleEndian() bool { return t.Kind != Bytes && !t.BigEndian && t.Size > 1 }

// Place is where byte i of the normalized form of a value stands in the value.
func (t Type) Place(i int) int {
	word := t.Size
	if t.Kind == UCS {
		word = ucsBytes
	}
	if !t.littleEndian() {
		return i
	}
	return i/word*word + word - 1 - i%word
}

// pieceBytes is how many bytes of the normalized form are made at once.
func (t Type) pieceBytes() int {
	if t.Kind == UCS && t.littleEndian() {
		return ucsBytes
	}
	return 8
}
