package format

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxTextBytes limits how much of a long bytesN is shown.
const maxTextBytes = 32

// KeyText formats a normalized key for people: numbers in decimal, floats with as few digits as
// distinguish them, bytes quoted if all are printable ASCII and otherwise in hexadecimal,
// characters quoted, and several fields in parentheses. A NaN includes its bits. Bytes or
// characters are limited to the first 32.
func (l Layout) KeyText(key []byte) string {
	text, _, _ := l.KeyTexts(key, key)
	return text
}

// KeyTexts formats two keys like KeyText, but shows the differing part of a long bytesN. differs
// is the index of the first field that differs, or -1.
func (l Layout) KeyTexts(a, b []byte) (textA, textB string, differs int) {
	differs = -1
	var textsA, textsB []string
	for i, f := range l.Key {
		n := f.Type.KeyBytes()
		fieldA := a[:n]
		fieldB := b[:n]
		a = a[n:]
		b = b[n:]
		same := 0

		for same < len(fieldA) && fieldA[same] == fieldB[same] {
			same++
		}
		if same == len(fieldA) {
			same = 0
		} else if differs < 0 {
			differs = i
		}

		textsA = append(textsA, f.text(fieldA, same))
		textsB = append(textsB, f.text(fieldB, same))
	}

	if len(l.Key) == 1 {
		return textsA[0], textsB[0], differs
	}
	return "(" + strings.Join(textsA, ", ") + ")", "(" + strings.Join(textsB, ", ") + ")", differs
}

// text formats a field's part of a normalized key. Of long bytes it shows those near position
// around.
func (f Field) text(key []byte, around int) string {
	isNaN := f.isNumeric() && f.IsNaN(key)
	key = f.ascending(key)
	switch {
	case isNaN:
		return "NaN"
	case f.Type.Kind == Bytes:
		return bytesText(key, around)
	case f.Type.Kind == UCS:
		return ucsText(key, around/ucsBytes)
	case f.Type.IsFloat():
		text := f.Type.floatText(key)
		if f.isNumeric() && text == "-0" {
			return "0"
		}
		return text
	case f.hasNaT() && PrefixOf(key) == 0:
		return "NaT"
	case f.Type.IsDecimal():
		return decimalText(key)
	case f.Type.isTime():
		return string(AppendTime(nil, int64(PrefixOf(key)^1<<63), f.Type.Form))
	}

	number := new(big.Int).SetBytes(key)
	if f.Type.Kind == Signed { // the sign bit is flipped, so the number counts from the least value
		number.Sub(number, new(big.Int).Lsh(big.NewInt(1), uint(8*len(key)-1)))
	}
	return number.String()
}

// ascending returns a part of a normalized key as if the field were ascending, with NaNs at both
// ends.
func (f Field) ascending(key []byte) []byte {
	key = f.unrotated(key)
	if f.Desc {
		invert(key)
	}
	return key
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// floatText formats a float with enough digits to distinguish numbers of the type.
func (t Type) floatText(key []byte) string {
	bits, value := t.float(key)
	if t.Kind == Extended {
		return wideText(
			binary.BigEndian.Uint16(key), binary.BigEndian.Uint64(key[2:]),
		)
	}
	if math.IsNaN(value) {
		return fmt.Sprintf("NaN(0x%x)", bits)
	}
	digits := map[uint]int{7: 4, 10: 5}[t.fractionBits()]
	return strconv.FormatFloat(
		value,
		'g',
		cmp.Or(digits, -1),
		max(8*t.Size, 32),
	)
}

// float returns the value of an ascending normalized key with NaNs at both ends, and its first 64
// bits. It overwrites the key with all of its bits.
func (t Type) float(key []byte) (bits uint64, value float64) {
	if key[0] < 0x80 {
		invert(key)
	} else {
		key[0] ^= 0x80
	}

	bits = PrefixOf(key)
	switch {
	case t.Kind == Extended:
		_, value = wideValue(
			binary.BigEndian.Uint16(key), binary.BigEndian.Uint64(key[2:]),
		)
		return bits, value
	case t.Size == 8:
		return bits, math.Float64frombits(bits)
	case t.Kind == Brain:
		return bits, float64(math.Float32frombits(uint32(bits) << 16))
	case t.Size == 4:
		return bits, float64(math.Float32frombits(uint32(bits)))
	}

	return bits, halfValue(uint16(bits))
}

// halfValue returns the value of a binary16 float: a sign, 5 bits of exponent and 10 bits of
// fraction.
func halfValue(bits uint16) float64 {
	fraction := float64(bits & (1<<10 - 1))
	exponent := int(bits >> 10 & 31)
	value := math.Ldexp(1024+fraction, exponent-25)

	switch {
	case exponent == 0: // subnormal
		value = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction > 0:
		value = math.NaN()
	case exponent == 31:
		value = math.Inf(1)
	}

	return math.Copysign(value, 1-2*float64(bits>>15))
}

// ucsText formats characters, quoted, without their NUL padding. Of many characters it shows
// those near position around.
func ucsText(key []byte, around int) string {
	var chars []rune
	for ; len(key) > 0; key = key[ucsBytes:] {
		chars = append(chars, rune(binary.BigEndian.Uint32(key)))
	}
	chars = []rune(strings.TrimRight(string(chars), "\x00"))
	from, to, before, after := shownPart(len(chars), around)
	return before + strconv.Quote(string(chars[from:to])) + after
}

// shownPart returns which of n bytes or characters are shown, and the marks for those omitted
// before and after.
func shownPart(n, around int) (from, to int, before, after string) {
	if from = max(min(around-maxTextBytes/2, n-maxTextBytes), 0); from > 0 {
		before = "…"
	}
	if to = min(from+maxTextBytes, n); to < n {
		after = "…"
	}
	return from, to, before, after
}

func bytesText(b []byte, around int) string {
	from, to, before, after := shownPart(len(b), around)
	b = b[from:to]
	if slices.ContainsFunc(b, func(c byte) bool { return c < ' ' || c > '~' }) {
		return fmt.Sprintf("0x%s%x%s", before, b, after)
	}
	return before + strconv.Quote(string(b)) + after
}
