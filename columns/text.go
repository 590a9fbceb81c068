package columns

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/extsort/extsort"
)

// A valueText converts the values of a column to text.
type valueText struct {
	text   func(value []byte) string
	isBare bool // numbers and booleans, which JSON does not quote
}

// hexText is the text of bytes that are not characters.
func hexText(value []byte) string { return "0x" + hex.EncodeToString(value) }

func plainText(value []byte) string { return string(value) }

func boolText(value []byte) string { return strconv.FormatBool(value[0] != 0) }

// valueText returns the conversion for a column.
func (c *column) valueText() valueText {
	if c.leaf == nil {
		return c.arrowText(storageType(c.arrowType))
	}
	return c.parquetText()
}

func (c *column) arrowText(t arrow.DataType) valueText {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return c.arrowText(t.ValueType)
	case *arrow.BooleanType:
		return valueText{boolText, true}
	case *arrow.TimestampType:
		return valueText{timestampText(unitOf(t.Unit), t.TimeZone != ""), false}
	case *arrow.Date32Type:
		return valueText{dateText(24 * time.Hour), false}
	case *arrow.Date64Type:
		return valueText{dateText(time.Millisecond), false}
	case *arrow.Time32Type:
		return valueText{clockText(unitOf(t.Unit)), false}
	case *arrow.Time64Type:
		return valueText{clockText(unitOf(t.Unit)), false}
	case arrow.DecimalType:
		return valueText{decimalText(int(t.GetScale()), false), true}
	}
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return valueText{plainText, false}
	case arrow.DURATION, arrow.INTERVAL_MONTHS:
		return valueText{decimalText(0, false), true}
	}
	return c.storedText()
}

func unitOf(u arrow.TimeUnit) time.Duration { return u.Multiplier() }

func (c *column) parquetText() valueText {
	switch t := c.leaf.LogicalType().(type) {
	case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
		return valueText{plainText, false}
	case schema.UUIDLogicalType:
		return valueText{uuidText, false}
	case schema.DateLogicalType:
		return valueText{dateText(24 * time.Hour), false}
	case schema.TimestampLogicalType:
		return valueText{timestampText(unitNamed(t.TimeUnit()), t.IsAdjustedToUTC()), false}
	case *schema.TimestampLogicalType:
		return valueText{timestampText(unitNamed(t.TimeUnit()), t.IsAdjustedToUTC()), false}
	case schema.TimeLogicalType:
		return valueText{clockText(unitNamed(t.TimeUnit())), false}
	case *schema.TimeLogicalType:
		return valueText{clockText(unitNamed(t.TimeUnit())), false}
	case schema.DecimalLogicalType:
		return valueText{decimalText(int(t.Scale()), c.isBigEndian()), true}
	case *schema.DecimalLogicalType:
		return valueText{decimalText(int(t.Scale()), c.isBigEndian()), true}
	}
	switch c.leaf.PhysicalType() {
	case parquet.Types.Boolean:
		return valueText{boolText, true}
	case parquet.Types.Int96:
		return valueText{int96Text, false}
	}
	return c.storedText()
}

// isBigEndian reports whether the values are numbers in big-endian bytes.
func (c *column) isBigEndian() bool {
	t := c.leaf.PhysicalType()
	return t == parquet.Types.FixedLenByteArray || t == parquet.Types.ByteArray
}

func unitNamed(u schema.TimeUnitType) time.Duration {
	switch u {
	case schema.TimeUnitMillis:
		return time.Millisecond
	case schema.TimeUnitMicros:
		return time.Microsecond
	}
	return time.Nanosecond
}

// storedText converts numbers by the type of their order, and other values to hexadecimal digits.
func (c *column) storedText() valueText {
	if len(c.fields) != 1 || c.isVariable {
		return valueText{hexText, false}
	}
	switch c.fields[0].Type {
	case extsort.U8, extsort.U16, extsort.U32, extsort.U64:
		return valueText{func(v []byte) string { return strconv.FormatUint(unsigned(v), 10) }, true}
	case extsort.I8, extsort.I16, extsort.I32, extsort.I64:
		return valueText{func(v []byte) string { return strconv.FormatInt(signed(v), 10) }, true}
	case "f16":
		return valueText{func(v []byte) string { return float16.FromBits(uint16(unsigned(v))).String() }, true}
	case extsort.F32:
		return valueText{func(v []byte) string {
			return strconv.FormatFloat(float64(math.Float32frombits(uint32(unsigned(v)))), 'g', -1, 32)
		}, true}
	case extsort.F64:
		return valueText{func(v []byte) string {
			return strconv.FormatFloat(math.Float64frombits(unsigned(v)), 'g', -1, 64)
		}, true}
	}
	return valueText{hexText, false}
}

// unsigned returns a little-endian number of at most 8 bytes.
func unsigned(value []byte) uint64 {
	var full [8]byte
	copy(full[:], value)
	return binary.LittleEndian.Uint64(full[:])
}

func signed(value []byte) int64 {
	unused := 64 - 8*len(value)
	return int64(unsigned(value)<<unused) >> unused
}

// decimalText returns a conversion of integers in two's complement with the given number of decimal places.
func decimalText(scale int, isBigEndian bool) func(value []byte) string {
	return func(value []byte) string {
		digits := slices.Clone(value)
		if !isBigEndian {
			slices.Reverse(digits)
		}
		n := new(big.Int).SetBytes(digits)
		if len(digits) > 0 && digits[0]&0x80 != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(digits))))
		}
		if scale <= 0 {
			return n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-scale)), nil)).String()
		}
		sign := ""
		if n.Sign() < 0 {
			sign = "-"
		}
		text := n.Abs(n).String()
		for len(text) <= scale {
			text = "0" + text
		}
		return sign + text[:len(text)-scale] + "." + text[len(text)-scale:]
	}
}

// timeOf returns the time that is count units after 1970.
func timeOf(count int64, unit time.Duration) time.Time {
	perSecond := int64(max(time.Second/unit, 1))
	seconds := count / perSecond
	rest := count % perSecond
	if unit > time.Second {
		seconds = count * int64(unit/time.Second)
	}
	return time.Unix(seconds, rest*int64(unit)).UTC()
}

func dateText(unit time.Duration) func(value []byte) string {
	return func(value []byte) string { return timeOf(signed(value), unit).Format(time.DateOnly) }
}

// timestampText returns a conversion to the form of RFC 3339, with a zone only if the times are in UTC.
func timestampText(unit time.Duration, isUTC bool) func(value []byte) string {
	form := "2006-01-02T15:04:05.999999999"
	if isUTC {
		form += "Z"
	}
	return func(value []byte) string { return timeOf(signed(value), unit).Format(form) }
}

func clockText(unit time.Duration) func(value []byte) string {
	return func(value []byte) string { return timeOf(signed(value), unit).Format("15:04:05.999999999") }
}

func uuidText(value []byte) string {
	h := hex.EncodeToString(value)
	if len(h) != 32 {
		return hexText(value)
	}
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// int96Text converts nanoseconds of the day and a Julian day.
func int96Text(value []byte) string {
	const julianDayOf1970 = 2440588
	day := signed(value[8:12]) - julianDayOf1970
	return time.Unix(day*86400, signed(value[:8])).UTC().Format("2006-01-02T15:04:05.999999999")
}
