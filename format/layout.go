package format

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/extsort/extsort/internal/option"
)

// MaxRecordSize is the maximum size of a record, so that blocks of a few records always fit into
// buffers.
const MaxRecordSize = 1 << 20

// A Field is one field of the key: its offset in the record, its type and its direction.
type Field struct {
	Offset int // in bytes from the start of the record
	Type   Type
	Desc   bool // largest first
	NaN    NaNOrder
	// NaT is set if the least value of a signed number is NumPy's NaT, which is ordered as NaN
	// says.
	NaT bool

	// Numeric makes −0 equal to +0 and all NaNs of a float equal to each other. If NaN is
	// NaNTotal, NaNs come last.
	Numeric bool
}

// NaNOrder is the position of the NaNs of a float, or of the NaT of a time. It does not depend on
// the direction.
type NaNOrder int8

// The positions of NaNs.
const (
	NaNTotal NaNOrder = iota // at both ends, by sign, as in IEEE 754 totalOrder
	NaNFirst                 // before all numbers
	NaNLast                  // after all numbers
)

// countNaNs returns how many of the least and of the greatest normalized keys are NaNs. A float has
// one NaN at each end per value of its fraction, except for 0, which is Inf. A time has a single
// NaT at its least end.
func (f Field) countNaNs() (least, most uint64) {
	switch {
	case f.Type.IsFloat():
		n := uint64(1)<<f.Type.fractionBits() - 1
		return n, n
	case f.hasNaT() && f.Desc:
		return 0, 1
	case f.hasNaT():
		return 1, 0
	}

	return 0, 0
}

// hasNaT reports whether the least value is NumPy's NaT.
func (f Field) hasNaT() bool { return f.NaT || f.Type.isTime() }

// isNumeric reports whether equal values of the field may have different bit patterns.
func (f Field) isNumeric() bool { return f.Numeric && f.Type.IsFloat() }

// nanOrder returns the position of NaNs. If all NaNs are equal, they are at one end.
func (f Field) nanOrder() NaNOrder {
	if f.isNumeric() && f.NaN == NaNTotal {
		return NaNLast
	}
	return f.NaN
}

// rotation returns the offset by which normalized keys are rotated so that NaNs are in their
// position.
func (f Field) rotation() uint64 {
	least, most := f.countNaNs()
	switch f.nanOrder() {
	case NaNFirst:
		return most
	case NaNLast:
		return -least & f.greatestKey()
	}
	return 0
}

// greatestKey returns the greatest normalized key of numbers of at most 8 bytes.
func (f Field) greatestKey() uint64 {
	return ^uint64(0) >> (64 - 8*min(f.Type.Size, 8))
}

// IsNaN reports whether a part of a normalized key is a NaN or a NaT.
func (f Field) IsNaN(key []byte) bool {
	least, most := f.countNaNs()
	key = f.unrotated(key)
	if isBelow(key, least) {
		return true
	}
	invert(key)
	return isBelow(key, most)
}

// unrotated returns a copy of a part of a normalized key as if NaNs were in totalOrder.
func (f Field) unrotated(key []byte) []byte {
	key = slices.Clone(key)
	least, most := f.countNaNs()
	switch f.nanOrder() {
	case NaNFirst: // k - n is ^(^k + n)
		invert(key)
		addTo(key, most)
		invert(key)
	case NaNLast:
		addTo(key, least)
	}

	return key
}

// addTo adds n to a big-endian number and discards the overflow.
func addTo(number []byte, n uint64) {
	carry := uint64(0)
	for i := len(number) - 1; i >= 0; i-- {
		sum := uint64(number[i]) + n&0xff + carry
		number[i] = byte(sum)
		carry = sum >> 8
		n >>= 8
	}
}

// isBelow reports whether a big-endian number is less than n.
func isBelow(number []byte, n uint64) bool {
	high := number[:max(len(number)-8, 0)]
	return !slices.ContainsFunc(high, func(c byte) bool {
		return c != 0
	}) && PrefixOf(number[len(high):]) < n
}

// countForm matches zoned:N, packed:N and ebcdic:N, whose colon would separate the type from a
// direction.
var countForm = lazyRegexp(`^(zoned|packed|ebcdic):([0-9]+)`)

// ParseField parses OFFSET:TYPE[:desc].
func ParseField(s string) (Field, error) {
	offset, rest, ok := strings.Cut(s, ":")
	rest = countForm().ReplaceAllString(rest, "$1$2")
	name, _, _ := strings.Cut(rest, ":")
	at, notNumber := strconv.Atoi(offset)
	t, err := ParseType(name)
	direction := strings.TrimPrefix(rest, name)

	switch {
	case !ok:
		return Field{}, fmt.Errorf(
			"key %q: want OFFSET:TYPE[:desc], for example 8:u32be or 0:f64:desc", s,
		)
	case strings.Contains(rest, ","):
		return Field{}, fmt.Errorf(
			"key %q: give each field its own %v OFFSET:TYPE", s, option.Keys,
		)
	case notNumber != nil || at < 0:
		return Field{}, fmt.Errorf(
			"key %q: offset %q is not a number of bytes", s, offset,
		)
	case err != nil:
		return Field{}, fmt.Errorf("key %q: %w", s, err)
	case direction != "" && direction != ":desc" && direction != ":asc":
		return Field{}, fmt.Errorf(
			"key %q: only :desc (or :asc, the default) may follow the type", s,
		)
	}

	return Field{
		Offset: at,
		Type:   t,
		Desc:   direction == ":desc",
	}, nil
}

// String returns the field in the form that ParseField parses.
func (f Field) String() string {
	s := strconv.Itoa(f.Offset) + ":" + f.Type.String()
	if f.Desc {
		s += ":desc"
	}
	return s
}

// A Layout describes a record: its size in bytes and the fields of its key, most significant
// first.
type Layout struct {
	RecordSize int
	Key        []Field
}

// Bare returns the layout of a file of plain values: each record is one value of type t.
func Bare(t Type) Layout {
	return Layout{RecordSize: t.Size, Key: []Field{{Type: t}}}
}

// Whole returns the layout of records of size bytes that are compared as byte strings.
func Whole(size int) Layout {
	return Bare(Type{Kind: Bytes, Size: size})
}

// Validate returns all errors of the layout.
func (l Layout) Validate() error {
	if l.RecordSize < 1 || l.RecordSize > MaxRecordSize {
		return fmt.Errorf(
			"record size %d: must be from 1 to %d bytes",
			l.RecordSize,
			MaxRecordSize,
		)
	}
	if len(l.Key) == 0 {
		return errors.New("no key: a layout needs at least one key field")
	}
	var faults []error
	for _, f := range l.Key {
		if err := f.Type.validate(); err != nil {
			faults = append(faults, err)
			continue
		}
		if f.Offset < 0 ||
			f.Offset > l.RecordSize-f.Type.Size { // a sum could overflow
			faults = append(
				faults,
				fmt.Errorf(
					"key %v needs %d bytes from byte %d on, but a record has only bytes 0 to %d",
					f, f.Type.Size, f.Offset, l.RecordSize-1,
				),
			)
		}
	}

	if n := l.KeySize(); n > MaxKeyBytes {
		faults = append(faults,
			fmt.Errorf(
				"the key fields have %d bytes in total: the maximum is %d",
				n,
				MaxKeyBytes,
			))
	}
	return errors.Join(faults...)
}

// KeySize returns the width of the normalized key in bytes.
func (l Layout) KeySize() int {
	n := 0
	for _, f := range l.Key {
		n += f.Type.KeyBytes()
	}
	return n
}

// Reverse returns the layout with the opposite order: every field changes its direction. Sorting
// is still stable: records with equal keys keep their order.
func (l Layout) Reverse() Layout {
	l.Key = slices.Clone(l.Key)
	for i := range l.Key {
		l.Key[i].Desc = !l.Key[i].Desc
	}
	return l
}

// MovesNaNs reports whether floats have an order other than totalOrder: NaNs have another
// position, or zeros are equal.
func (l Layout) MovesNaNs() bool {
	return slices.ContainsFunc(l.Key, func(f Field) bool {
		return f.HasNaNs() && f.nanOrder() != NaNTotal
	})
}

// HasDecimals reports whether the key contains a decimal number of a mainframe.
func (l Layout) HasDecimals() bool {
	return slices.ContainsFunc(l.Key, func(f Field) bool {
		return f.Type.IsDecimal()
	})
}

// isNumeric reports whether a field of the key isNumeric.
func (l Layout) isNumeric() bool {
	return slices.ContainsFunc(l.Key, Field.isNumeric)
}

// withFloats returns the layout with NaNs first or last according to nan, and with numeric floats
// if float is "numeric".
func (l Layout) withFloats(nan, float string) Layout {
	order := map[string]NaNOrder{"first": NaNFirst, "last": NaNLast}[nan]
	l.Key = slices.Clone(l.Key)
	for i := range l.Key {
		l.Key[i].NaN = order
		l.Key[i].Numeric = float == "numeric"
	}
	return l
}

// IsBare reports whether the key is the whole record, so that records with equal keys are equal
// and a record can be rebuilt from its normalized key. This excludes little-endian characters,
// because the bytes of each are swapped, padded floats, numeric floats, and decimals.
func (l Layout) IsBare() bool {
	return l.isOneValue() && l.Key[0].Type.KeyBytes() == l.RecordSize &&
		!l.Key[0].isNumeric() &&
		!l.HasDecimals()
}

// isOneValue reports whether a record is a single number or byte string.
func (l Layout) isOneValue() bool {
	return len(l.Key) == 1 && l.Key[0].Type.pieceBytes() == 8 &&
		l.Key[0].Offset == 0 &&
		l.Key[0].Type.Size == l.RecordSize
}

// String describes the layout in a few words for plans and reports.
func (l Layout) String() string {
	if l.isOneValue() {
		return "bare " + strings.TrimPrefix(l.Key[0].String(), "0:")
	}
	keys := make([]string, len(l.Key))
	for i, f := range l.Key {
		keys[i] = f.String()
	}
	return fmt.Sprintf(
		"%d-byte records by %s", l.RecordSize, strings.Join(keys, ", "),
	)
}

// lazyRegexp returns a function that compiles a regular expression on its first call. Most runs
// need none of them.
func lazyRegexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
