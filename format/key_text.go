package format

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxTextBytes is how much of a long bytesN is shown.
const maxTextBytes = 32

// KeyText is a normalized key as people read it: numbers in decimal, floats in as few digits as tell them apart, bytes
// quoted where all are printable ASCII, else in hexadecimal; several fields in parentheses. A NaN has its bits. Of a
// bytesN with more than 32 bytes it has the first ones.
func (l Layout) KeyText(key []byte) string {
	text, _, _ := l.KeyTexts(key, key)
	return text
}

// KeyTexts is KeyText of two keys, which shows of a long bytesN the part in which they differ. differs is the index of
// the first field that is not the same in both; -1: none.
func (l Layout) KeyTexts(a, b []byte) (textA, textB string, differs int) {
	differs = -1
	var textsA, textsB []string
	for i, f := range l.Key {
		fieldA, fieldB := a[:f.Type.Size], b[:f.Type.Size]
		a, b = a[f.Type.Size:], b[f.Type.Size:]
		same := 0
		for same < len(fieldA) && fieldA[same] == fieldB[same] {
			same++
		}
		if same == len(fieldA) {
			same = 0
		} else if differs < 0 {
			differs = i
		}
		textsA, textsB = append(textsA, f.text(fieldA, same)), append(textsB, f.text(fieldB, same))
	}
	if len(l.Key) == 1 {
		return textsA[0], textsB[0], differs
	}
	return "(" + strings.Join(textsA, ", ") + ")", "(" + strings.Join(textsB, ", ") + ")", differs
}

// text is a field's part of a normalized key, of long bytes those around a place.
func (f Field) text(key []byte, around int) string {
	key = slices.Clone(key)
	if f.Type.Kind == Float {
		f.turnBack(key)
	}
	if f.Desc {
		invert(key)
	}
	switch f.Type.Kind {
	case Bytes:
		return bytesText(key, around)
	case Float:
		return floatText(key)
	}
	number := new(big.Int).SetBytes(key)
	if f.Type.Kind == Signed { // its sign bit is flipped: a number from the least one up
		number.Sub(number, new(big.Int).Lsh(big.NewInt(1), uint(8*len(key)-1)))
	}
	return number.String()
}

// turnBack undoes the turn of a float's key.
func (f Field) turnBack(key []byte) {
	var wide [8]byte
	binary.BigEndian.PutUint64(wide[:], PrefixOf(key)-f.turn())
	copy(key, wide[8-len(key):])
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

func floatText(key []byte) string {
	if key[0] < 0x80 {
		invert(key)
	} else {
		key[0] ^= 0x80
	}
	bits := new(big.Int).SetBytes(key).Uint64()
	value := math.Float64frombits(bits)
	if len(key) == 4 {
		value = float64(math.Float32frombits(uint32(bits)))
	}
	if math.IsNaN(value) {
		return fmt.Sprintf("NaN(0x%x)", bits)
	}
	return strconv.FormatFloat(value, 'g', -1, 8*len(key))
}

func bytesText(b []byte, around int) string {
	before, after := "", ""
	if from := max(min(around-maxTextBytes/2, len(b)-maxTextBytes), 0); from > 0 {
		before, b = "…", b[from:]
	}
	if len(b) > maxTextBytes {
		after, b = "…", b[:maxTextBytes]
	}
	if slices.ContainsFunc(b, func(c byte) bool { return c < ' ' || c > '~' }) {
		return fmt.Sprintf("0x%s%x%s", before, b, after)
	}
	return before + strconv.Quote(string(b)) + after
}
