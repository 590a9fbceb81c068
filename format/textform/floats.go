package textform

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/extsort/extsort/format"
)

// A floatForm describes the bits of an IEEE 754 float.
type floatForm struct {
	bits     int
	fraction int // number of fraction bits
	// appendValue appends a number that is finite.
	appendValue func(dst []byte, bits uint64) []byte
	// round returns the bits of a number, which may be an infinity, and reports whether a finite
	// number is too large.
	round func(text []byte) (bits uint64, fault problem)
}

var (
	doubleForm = floatForm{64, 52, appendDouble, roundDouble}
	singleForm = floatForm{32, 23, appendSingle, roundSingle}
	halfForm   = floatForm{16, 10, half.append, half.round}
	brainForm  = floatForm{16, 7, brain.append, brain.round}
)

func floatCodec(t format.Type) codec {
	form := &singleForm
	switch {
	case t.Kind == format.Brain:
		form = &brainForm
	case t.Size == 8:
		form = &doubleForm
	case t.Size == 2:
		form = &halfForm
	}
	return codec{
		isNumber: true,
		encode: func(dst, value []byte) []byte {
			return form.append(dst, load(value, t.BigEndian))
		},
		decode: func(value, text []byte) problem {
			bits, fault := form.parse(text)
			if fault == "" {
				store(value, t.BigEndian, bits)
			}
			return fault
		},
	}
}

func (f *floatForm) sign() uint64 { return 1 << (f.bits - 1) }

// infinity returns the bits of +Inf: an exponent of ones and a fraction of 0.
func (f *floatForm) infinity() uint64 {
	return f.sign() - 1<<f.fraction
}

// quietNaN returns the bits of the usual NaN, with only the first bit of its fraction set.
func (f *floatForm) quietNaN() uint64 {
	return f.infinity() | 1<<(f.fraction-1)
}

func (f *floatForm) append(dst []byte, bits uint64) []byte {
	magnitude := bits &^ f.sign()
	switch {
	case magnitude < f.infinity():
		return f.appendValue(dst, bits)
	case magnitude != f.infinity() && magnitude != f.quietNaN():
		return fmt.Appendf(dst, "NaN(0x%0*x)", f.bits/4, bits)
	}
	if bits != magnitude {
		dst = append(dst, '-')
	}
	if magnitude == f.infinity() {
		return append(dst, "Inf"...)
	}
	return append(dst, "NaN"...)
}

func (f *floatForm) parse(text []byte) (bits uint64, fault problem) {
	const shortestName = 3
	if len(text) < shortestName || digitOf(text[len(text)-1]) < 10 {
		return f.round(text)
	}
	lower := strings.ToLower(string(text))
	if digits, ok := strings.CutPrefix(lower, "nan(0x"); ok {
		bits, err := strconv.ParseUint(
			strings.TrimSuffix(digits, ")"),
			16,
			f.bits,
		)
		if err != nil || bits&^f.sign() <= f.infinity() {
			return 0, "is not a NaN of the type"
		}
		return bits, ""
	}
	switch strings.TrimPrefix(lower, "+") {
	case "nan":
		return f.quietNaN(), ""
	case "-nan":
		return f.quietNaN() | f.sign(), ""
	}
	return f.round([]byte(lower))
}

func appendDouble(dst []byte, bits uint64) []byte {
	return strconv.AppendFloat(dst, math.Float64frombits(bits), 'g', -1, 64)
}

func roundDouble(text []byte) (bits uint64, fault problem) {
	v, err := strconv.ParseFloat(string(text), 64)
	return math.Float64bits(v), problemOf(err)
}

func appendSingle(dst []byte, bits uint64) []byte {
	return strconv.AppendFloat(
		dst,
		float64(math.Float32frombits(uint32(bits))),
		'g',
		-1,
		32,
	)
}

func roundSingle(text []byte) (bits uint64, fault problem) {
	v, err := strconv.ParseFloat(string(text), 32)
	return uint64(math.Float32bits(float32(v))), problemOf(err)
}

// A smallFloat is a float of 16 bits. The texts of all its values are computed once.
type smallFloat struct {
	fraction int // number of fraction bits
	least    int // 2^least is the least positive number
	texts    func() []string
}

var (
	half  = newSmallFloat(10, -24)
	brain = newSmallFloat(7, -133)
)

func newSmallFloat(fraction, least int) *smallFloat {
	f := &smallFloat{fraction: fraction, least: least}
	f.texts = sync.OnceValue(f.shortest)
	return f
}

// infinity returns the bits of +Inf.
func (f *smallFloat) infinity() uint64 {
	return smallSign - 1<<f.fraction
}

const smallSign = 1 << 15

func (f *smallFloat) append(dst []byte, bits uint64) []byte {
	return append(dst, f.texts()[bits]...)
}

// value returns the value of a finite float.
func (f *smallFloat) value(bits uint64) float64 {
	magnitude := bits &^ smallSign
	fraction := magnitude & (1<<f.fraction - 1)
	exponent := int(magnitude >> f.fraction)
	value := math.Ldexp(float64(fraction), f.least)
	if exponent > 0 {
		value = math.Ldexp(float64(fraction|1<<f.fraction), f.least+exponent-1)
	}
	if bits != magnitude {
		return math.Copysign(value, -1)
	}
	return value
}

// shortest returns the shortest text of each finite float.
func (f *smallFloat) shortest() []string {
	const enoughDigits = 6
	texts := make([]string, 1<<16)
	for bits := range uint64(len(texts)) {
		if bits&^smallSign >= f.infinity() {
			continue
		}
		for digits := 1; digits <= enoughDigits; digits++ {
			text := strconv.FormatFloat(f.value(bits), 'g', digits, 64)
			if back, fault := f.round([]byte(text)); fault == "" && back == bits {
				texts[bits] = text
				break
			}
		}
	}
	return texts
}

// round rounds a number to the nearest float, and a tie to the even one.
func (f *smallFloat) round(text []byte) (bits uint64, fault problem) {
	v, err := strconv.ParseFloat(string(text), 64)
	if fault := problemOf(err); fault != "" {
		return 0, fault
	}
	if math.Signbit(v) {
		bits = smallSign
	}
	v = math.Abs(v)
	switch {
	case math.IsInf(v, 1):
		return bits | f.infinity(), ""
	case v == 0:
		return bits, ""
	}

	_, exponent := math.Frexp(v) // v is at least 2^(exponent-1)
	step := max(exponent-1-f.fraction, f.least)
	units := uint64(math.RoundToEven(math.Ldexp(v, -step)))
	magnitude := uint64(step-f.least)<<f.fraction + units
	if magnitude >= f.infinity() {
		return 0, outOfRange
	}
	return bits | magnitude, ""
}

// extendedBytes is the size of an 80-bit float without padding.
const extendedBytes = 10

// The bits of special 80-bit floats: their exponents, and the significands of Inf and of the usual
// NaN.
const (
	extendedMax      = 0x7fff
	extendedBias     = 16383
	leadingBit       = 1 << 63
	extendedQuietNaN = leadingBit | 1<<62
)

func extendedCodec(t format.Type) codec {
	padding := t.Size - extendedBytes
	return codec{
		isNumber: true,
		encode: func(dst, value []byte) []byte {
			number := value[:extendedBytes]
			rest := value[extendedBytes:]
			if t.BigEndian {
				rest = value[:padding]
				number = value[padding:]
			}
			if len(bytes.Trim(rest, "\x00")) > 0 {
				return appendRaw(dst, value)
			}
			exponent, significand := extendedParts(number, t.BigEndian)
			return appendExtended(dst, value, exponent, significand)
		},
		decode: func(value, text []byte) problem {
			if isRaw, fault := decodeRaw(value, text); isRaw {
				return fault
			}
			exponent, significand, fault := parseExtended(string(text))
			if fault != "" {
				return fault
			}
			clear(value)
			if t.BigEndian {
				store(value[padding:padding+2], true, exponent)
				store(value[padding+2:], true, significand)
				return ""
			}
			store(value[:8], false, significand)
			store(value[8:extendedBytes], false, exponent)
			return ""
		},
	}
}

// extendedParts returns the sign and exponent, and the significand.
func extendedParts(
	number []byte, bigEndian bool,
) (exponent, significand uint64) {
	if bigEndian {
		return load(number[:2], true), load(number[2:], true)
	}
	return load(number[8:], false), load(number[:8], false)
}

func appendExtended(dst, value []byte, exponent, significand uint64) []byte {
	magnitude := exponent & extendedMax
	isUsual := (magnitude == 0) == (significand < leadingBit)
	isSpecial := magnitude == extendedMax
	if !isUsual ||
		isSpecial && significand != leadingBit &&
			significand != extendedQuietNaN {
		return appendRaw(dst, value)
	}
	if exponent != magnitude {
		dst = append(dst, '-')
	}
	switch {
	case isSpecial && significand == leadingBit:
		return append(dst, "Inf"...)
	case isSpecial:
		return append(dst, "NaN"...)
	case significand == 0:
		return append(dst, '0')
	}
	number := new(big.Float).SetPrec(
		uint(bits.Len64(significand)),
	).SetUint64(significand)
	number.SetMantExp(number, max(int(magnitude), 1)-extendedBias-63)
	start := len(dst)
	dst = number.Append(dst, 'g', -1)
	if significand != leadingBit {
		return dst
	}
	// Below a power of two, floats are twice as dense, which Append does not take into account.
	_, back, _ := parseExtended(string(dst[start:]))
	if back == significand {
		return dst
	}
	const enoughDigits = 21 // for 64 bits
	return number.Append(dst[:start], 'g', enoughDigits)
}

func parseExtended(text string) (exponent, significand uint64, fault problem) {
	const sign = 1 << 15
	lower := strings.ToLower(text)
	magnitude := strings.TrimLeft(lower, "+-")
	if strings.HasPrefix(lower, "-") {
		exponent = sign
	}
	switch magnitude {
	case "nan":
		return exponent | extendedMax, extendedQuietNaN, ""
	case "inf", "infinity":
		return exponent | extendedMax, leadingBit, ""
	}
	const precision = 200 // rounded only once, below
	number, _, err := big.ParseFloat(
		magnitude,
		10,
		precision,
		big.ToNearestEven,
	)
	if err != nil || len(lower)-len(magnitude) > 1 {
		return 0, 0, notANumber
	}
	if number.Sign() == 0 {
		return exponent, 0, ""
	}

	// The number is at least 2^(power-1). The significand counts units of 2^step.
	power := number.MantExp(nil)
	step := max(power-64, 1-extendedBias-63)
	scaled := new(big.Float).SetMantExp(number, -step)
	units := roundToEven(scaled)
	if units.BitLen() > 64 {
		units.Rsh(units, 1)
		step++
	}
	significand = units.Uint64()
	biased := step + 63 + extendedBias
	if significand < leadingBit {
		biased = 0
	}
	if biased >= extendedMax {
		return 0, 0, outOfRange
	}
	return exponent | uint64(biased), significand, ""
}

// roundToEven rounds a positive number to an integer, and a tie to the even one.
func roundToEven(x *big.Float) *big.Int {
	whole, _ := x.Int(nil)
	rest := new(big.Float).Sub(x, new(big.Float).SetInt(whole))
	switch rest.Cmp(big.NewFloat(0.5)) {
	case 1:
		whole.Add(whole, big.NewInt(1))
	case 0:
		whole.Add(whole, big.NewInt(int64(whole.Bit(0))))
	}
	return whole
}
