package textform

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/extsort/extsort/format"
)

// A codec converts the values of a type.
type codec struct {
	isNumber bool // values are right-aligned in a table, and numbers in JSON
	isText   bool // values may have to be quoted
	// encode appends the text of a value.
	encode func(dst, value []byte) []byte
	// decode parses a text and stores its value. REQUIRES: the value was zero
	decode func(value, text []byte) problem
	// scan parses the value at the beginning of a text and returns the length of its text, or 0 if
	// only decode can tell. nil means that decode parses all values.
	// REQUIRES: len(text) > scanBytes
	scan func(value, text []byte) int
}

// A problem describes why a text is invalid, as the end of a sentence. "" means that it is valid.
type problem string

const (
	notANumber problem = "is not a number of the type"
	outOfRange problem = "is out of the range of the type"
	badHex     problem = "is not the hexadecimal form of a value of the type"
	tooLong    problem = "is longer than the field"
)

// codecOf returns the codec of a type.
func codecOf(t format.Type) codec {
	switch {
	case t.Form >= format.FormSeconds && t.Form <= format.FormNanos:
		return timeCodec(t)
	case t.Form == format.FormEBCDIC:
		return ebcdicCodec()
	case t.IsDecimal():
		return decimalCodec(t)
	}
	switch t.Kind {
	case format.Unsigned, format.Signed:
		switch {
		case t.Size > 8:
			return wideCodec(t)
		case t.Kind == format.Signed:
			return signedCodec(t)
		}
		return unsignedCodec(t)
	case format.Float, format.Brain:
		return floatCodec(t)
	case format.Extended:
		return extendedCodec(t)
	case format.UCS:
		return charactersCodec(t)
	}
	return bytesCodec(t)
}

// appendRaw appends 0x and the bytes of a value in hexadecimal.
func appendRaw(dst, value []byte) []byte {
	dst = append(dst, "0x"...)
	return hex.AppendEncode(dst, value)
}

// decodeRaw is the inverse of appendRaw. isRaw is false if the text is something else.
func decodeRaw(value, text []byte) (isRaw bool, fault problem) {
	if len(text) < 2 || text[0] != '0' || text[1]|0x20 != 'x' {
		return false, ""
	}
	digits := text[2:]
	if len(digits) != 2*len(value) {
		return true, badHex
	}
	if _, err := hex.Decode(value, digits); err != nil {
		return true, badHex
	}
	return true, ""
}

// looksRaw reports whether decodeRaw would take a text for hexadecimal digits.
func looksRaw(text []byte) bool {
	return len(text) >= 2 && text[0] == '0' && text[1]|0x20 == 'x'
}

// isPrintable reports whether a text consists of characters that can be printed on a line.
func isPrintable(text []byte) bool {
	for i, c := range text {
		if c >= utf8.RuneSelf {
			return utf8.Valid(text[i:]) && bytes.IndexFunc(text, isHidden) < 0
		}
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

func isHidden(r rune) bool { return !unicode.IsPrint(r) }

// uuidSize is the size of a UUID, which has a notation with hyphens.
const uuidSize = 16

func bytesCodec(t format.Type) codec {
	return codec{
		isText: true,
		encode: func(dst, value []byte) []byte {
			text := bytes.TrimRight(value, "\x00")
			if looksRaw(text) || !isPrintable(text) {
				return appendRaw(dst, value)
			}
			return append(dst, text...)
		},
		decode: func(value, text []byte) problem {
			if isRaw, fault := decodeRaw(value, text); isRaw {
				return fault
			}
			if len(text) > len(value) && t.Size == uuidSize {
				digits := bytes.ReplaceAll(text, []byte("-"), nil)
				if _, fault := decodeRaw(value, append([]byte("0x"), digits...)); fault == "" {
					return ""
				}
			}
			if len(text) > len(value) {
				return tooLong
			}
			copy(value, text)
			return ""
		},
	}
}

// ebcdicBlank is the blank of code page 037, which pads text.
const ebcdicBlank = 0x40

// ebcdicCodec returns the codec of text in code page 037. Each of its bytes is a character of
// Latin-1.
func ebcdicCodec() codec {
	page := charmap.CodePage037
	return codec{
		isText: true,
		encode: func(dst, value []byte) []byte {
			start := len(dst)
			for _, c := range bytes.TrimRight(value, string(rune(ebcdicBlank))) {
				dst = utf8.AppendRune(dst, page.DecodeByte(c))
			}
			if text := dst[start:]; looksRaw(text) || !isPrintable(text) {
				return appendRaw(dst[:start], value)
			}
			return dst
		},
		decode: func(value, text []byte) problem {
			if isRaw, fault := decodeRaw(value, text); isRaw {
				return fault
			}
			at := 0
			for _, r := range string(text) {
				c, ok := page.EncodeRune(r)
				switch {
				case !ok:
					return "has a character that code page 037 lacks"
				case at == len(value):
					return tooLong
				}
				value[at] = c
				at++
			}
			for ; at < len(value); at++ {
				value[at] = ebcdicBlank
			}
			return ""
		},
	}
}

// charBytes is the size of a character.
const charBytes = 4

func charactersCodec(t format.Type) codec {
	order := binary.ByteOrder(binary.LittleEndian)
	if t.BigEndian {
		order = binary.BigEndian
	}
	return codec{
		isText: true,
		encode: func(dst, value []byte) []byte {
			start := len(dst)
			used := len(bytes.TrimRight(value, "\x00"))
			for at := 0; at < used; at += charBytes {
				r := order.Uint32(value[at:])
				if r > unicode.MaxRune || !utf8.ValidRune(rune(r)) {
					return appendRaw(dst[:start], value)
				}
				dst = utf8.AppendRune(dst, rune(r))
			}
			if text := dst[start:]; looksRaw(text) || !isPrintable(text) {
				return appendRaw(dst[:start], value)
			}
			return dst
		},
		decode: func(value, text []byte) problem {
			if isRaw, fault := decodeRaw(value, text); isRaw {
				return fault
			}
			if !utf8.Valid(text) {
				return "is not UTF-8"
			}
			at := 0
			for _, r := range string(text) {
				if at == len(value) {
					return tooLong
				}
				order.PutUint32(value[at:], uint32(r))
				at += charBytes
			}
			return ""
		},
	}
}

// The sign codes that have a notation.
const (
	plusSign     = 0xC
	minusSign    = 0xD
	unsignedSign = 0xF
)

func decimalCodec(t format.Type) codec {
	count := format.DigitsOf(t)
	return codec{
		isNumber: true,
		encode: func(dst, value []byte) []byte {
			digits, sign, ok := decimalDigits(value, t)
			if !ok {
				return appendRaw(dst, value)
			}
			switch sign {
			case plusSign:
				dst = append(dst, '+')
			case minusSign:
				dst = append(dst, '-')
			}
			first := 0
			for first < count-1 && digits[first] == 0 {
				first++
			}
			for _, digit := range digits[first:count] {
				dst = append(dst, '0'+digit)
			}
			return dst
		},
		decode: func(value, text []byte) problem {
			if isRaw, fault := decodeRaw(value, text); isRaw {
				return fault
			}
			sign := byte(unsignedSign)
			if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
				sign = plusSign
				if text[0] == '-' {
					sign = minusSign
				}
				text = text[1:]
			}
			text = withoutZeros(text)
			switch {
			case len(text) == 0:
				return notANumber
			case len(text) > count:
				return outOfRange
			}
			digits := make([]byte, count)
			for i, c := range text {
				if c < '0' || c > '9' {
					return notANumber
				}
				digits[count-len(text)+i] = c - '0'
			}
			format.PutDigits(value, t, digits, sign)
			return ""
		},
	}
}

// withoutZeros returns a number without the zeros at its beginning.
func withoutZeros(text []byte) []byte {
	for len(text) > 1 && text[0] == '0' {
		text = text[1:]
	}
	return text
}

// maxDigits is the number of digits of the longest decimal.
const maxDigits = 31

// decimalDigits returns the digits of a decimal. ok is false if PutDigits would encode the digits
// as other bytes, or if the sign code has no notation.
func decimalDigits(
	value []byte, t format.Type,
) (digits [maxDigits]byte, sign byte, ok bool) {
	count := format.DigitsOf(t)
	for i := range count {
		switch {
		case t.Kind == format.Zoned:
			digits[i] = value[i] & 15
			sign = value[i] >> 4
			if i < count-1 && sign != unsignedSign {
				return digits, sign, false
			}
		case i%2 == 0:
			digits[i] = value[i/2] >> 4
		default:
			digits[i] = value[i/2] & 15
		}
		if digits[i] > 9 {
			return digits, sign, false
		}
	}
	if t.Kind == format.Packed {
		sign = value[len(value)-1] & 15
	}
	return digits, sign, sign == plusSign || sign == minusSign ||
		sign == unsignedSign
}
