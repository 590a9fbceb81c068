package format

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the way in which the bytes of a key type are ordered.
type Kind uint8

// The kinds of key types.
const (
	Unsigned Kind = iota // unsigned integer
	Signed               // two's complement integer
	Float                // IEEE 754 binary float in totalOrder
	// the more significant half of a 32-bit Float (bfloat16), in the same order
	Brain
	// Extended is the 80-bit float of the x87, which stores its leading bit, in 10 bytes or
	// padded. It has the same order as Float.
	Extended
	UCS    // characters of 4 bytes each, ordered by code point
	Bytes  // bytes ordered by memcmp
	Zoned  // decimal number with one digit per byte, as on mainframes; see decimalPiece
	Packed // decimal number with two digits per byte (COMP-3); see decimalPiece
)

// Form is the way in which values of a type are shown as text. It does not affect their order.
type Form uint8

// The forms of text.
const (
	FormDefault Form = iota // numbers in decimal, bytes as text or in hexadecimal
	FormSeconds             // a Signed: seconds since 1970, shown as a date and time in UTC
	FormMillis              // milliseconds since 1970
	FormMicros              // microseconds since 1970
	FormNanos               // nanoseconds since 1970
	FormEBCDIC              // Bytes: text in code page 037
)

// MaxKeyBytes is the maximum width of a bytesN field and of a whole normalized key.
const MaxKeyBytes = 1 << 16

// extendedBytes is the size of an Extended without padding.
const extendedBytes = 10

// A Type is the type of a key field: its size and the order of its values. The zero Type is
// invalid.
type Type struct {
	Kind      Kind
	Size      int  // in bytes, including padding
	BigEndian bool // byte order of numbers; not used for Bytes
	Form      Form // how values are shown
}

// A numberType is a row of the table of numbers. Each is little-endian; its name with the suffix
// "be" denotes the big-endian type.
type numberType struct {
	name     string
	kind     Kind
	bits     int    // including padding
	fraction uint   // number of fraction bits of a float; 0 for other types
	npy      string // NumPy's name, without the byte order; "" if it has no such type
	aliases  string // names in other languages and programs, separated by blanks
}

var numberTypes = []numberType{
	{"u8", Unsigned, 8, 0, "u1", "uint8 uchar byte bool boolean"},
	{"u16", Unsigned, 16, 0, "u2", "uint16 ushort"},
	{"u24", Unsigned, 24, 0, "", "uint24"},
	{"u32", Unsigned, 32, 0, "u4", "uint32 uint unsigned"},
	{"u40", Unsigned, 40, 0, "", "uint40"},
	{"u48", Unsigned, 48, 0, "", "uint48"},
	{"u64", Unsigned, 64, 0, "u8", "uint64 ulong size_t usize"},
	{"u128", Unsigned, 128, 0, "", "uint128"},
	{"i8", Signed, 8, 0, "i1", "int8 s8 schar"},
	{"i16", Signed, 16, 0, "i2", "int16 s16 short smallint"},
	{"i24", Signed, 24, 0, "", "int24 s24 mediumint"},
	{"i32", Signed, 32, 0, "i4", "int32 s32 int integer"},
	{"i40", Signed, 40, 0, "", "int40 s40"},
	{"i48", Signed, 48, 0, "", "int48 s48"},
	{"i64", Signed, 64, 0, "i8", "int64 s64 long longlong bigint ssize_t isize"},
	{"i128", Signed, 128, 0, "", "int128 s128"},
	{"f16", Float, 16, 10, "f2", "float16 half"},
	{"bf16", Brain, 16, 7, "", "bfloat16"},
	{"f32", Float, 32, 23, "f4", "float32 float single"},
	{"f64", Float, 64, 52, "f8", "float64 double"},
	{"f80", Extended, 80, 63, "", "float80 extended"},
	{"f80in96", Extended, 96, 63, "f12", "float96"},
	{"f80in128", Extended, 128, 63, "f16", ""},
}

// NumberTypes lists the names of number types. Each also exists with the suffix "be" for
// big-endian.
var NumberTypes = numberNames(func(*numberType) bool { return true })

// numberNames returns the names of the numbers for which wanted returns true.
func numberNames(wanted func(n *numberType) bool) (names []string) {
	for i := range numberTypes {
		if n := &numberTypes[i]; wanted(n) {
			names = append(names, n.name)
		}
	}
	return names
}

// typeOf returns the type of a row of the table.
func (n *numberType) typeOf(bigEndian bool) Type {
	return Type{
		Kind:      n.kind,
		Size:      n.bits / 8,
		BigEndian: bigEndian && n.bits > 8,
	}
}

// number returns the row of a type in the table of numbers, or nil.
func (t Type) number() *numberType {
	i := slices.IndexFunc(numberTypes, func(n numberType) bool {
		return n.kind == t.Kind && n.bits == 8*t.Size
	})
	if i < 0 {
		return nil
	}
	return &numberTypes[i]
}

// A countedType is a row of the table of types whose names end in a number of bytes.
type countedType struct {
	name string // before the number
	kind Kind
	form Form
	most int // maximum number of bytes
}

var countedTypes = []countedType{
	{"bytes", Bytes, FormDefault, MaxKeyBytes},
	{"ebcdic", Bytes, FormEBCDIC, MaxKeyBytes},
	{"zoned", Zoned, FormDefault, maxZonedBytes},
	{"packed", Packed, FormDefault, maxPackedBytes},
}

// A timeType is a row of the table of times: signed integers that are shown as dates.
type timeType struct {
	name string
	form Form
}

var timeTypes = []timeType{
	{"time_s", FormSeconds},
	{"time_ms", FormMillis},
	{"time_us", FormMicros},
	{"time_ns", FormNanos},
}

// timeBytes is the size of a time.
const timeBytes = 8

// TimeTypes returns the names of times. Each also exists with the suffix "be".
func TimeTypes() (names []string) {
	for _, t := range timeTypes {
		names = append(names, t.name)
	}
	return names
}

// ParseType parses a type in the notation of the command line: one of NumberTypes, a time, or ucsN
// (N characters), each with an optional suffix "be", or bytesN, ebcdicN, zonedN or packedN.
func ParseType(s string) (Type, error) {
	for _, c := range countedTypes {
		if digits, ok := strings.CutPrefix(s, c.name); ok {
			n, err := parseCount(
				s,
				c.name+"N",
				strings.TrimPrefix(digits, ":"),
				c.most,
			)
			return Type{
				Kind: c.kind,
				Size: n,
				Form: c.form,
			}, err
		}
	}

	name, bigEndian := strings.CutSuffix(s, "be")
	if digits, ok := strings.CutPrefix(name, "ucs"); ok {
		n, err := parseCount(s, "ucsN", digits, MaxKeyBytes/ucsBytes)
		return Type{
			Kind:      UCS,
			Size:      n * ucsBytes,
			BigEndian: bigEndian,
		}, err
	}
	for _, t := range timeTypes {
		if t.name == name {
			return Type{
				Kind:      Signed,
				Size:      timeBytes,
				BigEndian: bigEndian,
				Form:      t.form,
			}, nil
		}
	}

	at := slices.IndexFunc(numberTypes, func(n numberType) bool {
		return n.name == name
	})
	if at < 0 {
		return Type{}, fmt.Errorf(
			"unknown type %q: use a type such as u64, i32be, f64, time_ms or bytes16", s,
		)
	}
	return numberTypes[at].typeOf(bigEndian), nil
}

// ucsBytes is the size of a character.
const ucsBytes = 4

// parseCount parses the N of a type of the given form.
func parseCount(s, form, digits string, most int) (int, error) {
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("type %q: %s needs N from 1 to %d", s, form, most)
	}
	return n, nil
}

// validate returns an error for a type that ParseType never returns.
func (t Type) validate() error {
	if parsed, err := ParseType(t.String()); err != nil || parsed != t {
		return fmt.Errorf("unknown type %+v: make one with ParseType", struct {
			Kind      Kind
			Size      int
			BigEndian bool
			Form      Form
		}(t))
	}
	return nil
}

// String returns the type in the notation of ParseType.
func (t Type) String() string {
	for _, c := range countedTypes {
		if c.kind == t.Kind && c.form == t.Form {
			return c.name + strconv.Itoa(t.Size)
		}
	}

	var name string
	switch n := t.number(); {
	case t.isTime():
		name = timeTypes[t.Form-FormSeconds].name
	case t.Kind == UCS:
		name = "ucs" + strconv.Itoa(t.Size/ucsBytes)
	case n == nil: // never returned by ParseType
		return fmt.Sprintf("number%d", 8*t.Size)
	default:
		name = n.name
	}

	if t.BigEndian {
		name += "be"
	}
	return name
}

// KeyBytes returns the number of bytes of the type in a normalized key: its Size without padding,
// which is not compared.
func (t Type) KeyBytes() int {
	switch t.Kind {
	case Extended:
		return extendedBytes
	case Zoned:
		return zonedKeyBytes(t.Size)
	}
	return t.Size
}

// isTime reports whether values are shown as dates.
func (t Type) isTime() bool {
	return t.Form >= FormSeconds && t.Form <= FormNanos
}

// IsDecimal reports whether the type is a decimal number of a mainframe. Equal values may have
// different bytes.
func (t Type) IsDecimal() bool {
	return t.Kind == Zoned || t.Kind == Packed
}

// IsFloat reports whether the type has NaNs and infinities.
func (t Type) IsFloat() bool {
	return t.Kind == Float || t.Kind == Brain || t.Kind == Extended
}

// fractionBits returns the number of fraction bits of a float, or 0 for other types.
func (t Type) fractionBits() uint {
	if n := t.number(); n != nil {
		return n.fraction
	}
	return 0
}

// littleEndian reports whether the bytes of the type are in the opposite order of its normalized
// key.
func (t Type) littleEndian() bool {
	return t.Kind != Bytes && !t.IsDecimal() && !t.BigEndian && t.Size > 1
}

// Place returns the index in a value of byte i of its normalized form. Padding follows a
// little-endian number and precedes a big-endian one.
func (t Type) Place(i int) int {
	padding := t.Size - t.KeyBytes()
	word := t.KeyBytes()
	if t.Kind == UCS {
		word = ucsBytes
	}
	if !t.littleEndian() {
		return padding + i
	}
	return i/word*word + word - 1 - i%word
}

// pieceBytes returns how many bytes of the normalized form are computed at once.
func (t Type) pieceBytes() int {
	if t.Kind == UCS && t.littleEndian() {
		return ucsBytes
	}
	return 8
}
