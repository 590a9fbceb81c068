package columns

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/extsort/extsort"
)

// parseValue returns the bytes of a value of a Parquet column that is written as Print writes it. An empty text is
// a null, except for strings.
func (c *column) parseValue(text string) ([]byte, error) {
	if text == "" && !c.isVariable {
		return nil, nil
	}
	value, err := c.parseText(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a value of column %s (%s): write it like extsort print", text, c.name, c.typeText())
	}
	return value, nil
}

func (c *column) parseText(text string) ([]byte, error) {
	switch t := c.leaf.LogicalType().(type) {
	case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
		return []byte(text), nil
	case schema.UUIDLogicalType:
		return hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	case schema.DateLogicalType:
		return c.parseTime(text, time.DateOnly, 24*time.Hour)
	case schema.TimestampLogicalType:
		return c.parseTimestamp(text, unitNamed(t.TimeUnit()))
	case *schema.TimestampLogicalType:
		return c.parseTimestamp(text, unitNamed(t.TimeUnit()))
	case schema.DecimalLogicalType:
		return c.parseDecimal(text, int(t.Scale()))
	case *schema.DecimalLogicalType:
		return c.parseDecimal(text, int(t.Scale()))
	}
	return c.parseStored(text)
}

// parseTimestamp accepts a time or a date, in UTC.
func (c *column) parseTimestamp(text string, unit time.Duration) ([]byte, error) {
	text = strings.TrimSuffix(strings.Replace(text, " ", "T", 1), "Z")
	if value, err := c.parseTime(text, time.DateOnly, unit); err == nil {
		return value, nil
	}
	return c.parseTime(text, "2006-01-02T15:04:05.999999999", unit)
}

func (c *column) parseTime(text, form string, unit time.Duration) ([]byte, error) {
	t, err := time.Parse(form, text)
	if err != nil {
		return nil, err
	}
	if unit > time.Second {
		return c.number(t.Unix() / int64(unit/time.Second)), nil
	}
	perSecond := int64(time.Second / unit)
	isTooFine := t.Nanosecond()%int(unit) != 0
	isTooFar := t.Unix() >= math.MaxInt64/perSecond || t.Unix() <= math.MinInt64/perSecond
	if isTooFine || isTooFar {
		return nil, strconv.ErrRange
	}
	return c.number(t.Unix()*perSecond + int64(t.Nanosecond())/int64(unit)), nil
}

// number returns a number as a little-endian value of the column.
func (c *column) number(n int64) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(n))[:c.width]
}

func (c *column) parseDecimal(text string, scale int) ([]byte, error) {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, strconv.ErrSyntax
	}
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
	if !r.IsInt() || c.isVariable || r.Num().BitLen() >= 8*c.width {
		return nil, strconv.ErrRange
	}
	n := r.Num()
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*c.width)))
	}
	value := n.FillBytes(make([]byte, c.width))
	if !c.isBigEndian() {
		slices.Reverse(value)
	}
	return value, nil
}

// parseStored parses numbers by the type of their order, booleans, and other values as hexadecimal digits.
func (c *column) parseStored(text string) ([]byte, error) {
	if c.isVariable {
		return parseHex(text)
	}
	if len(c.fields) != 1 {
		return nil, strconv.ErrSyntax
	}
	switch c.fields[0].Type {
	case extsort.U8:
		b, err := strconv.ParseBool(text)
		if b {
			return []byte{1}, err
		}
		return []byte{0}, err
	case extsort.U16, extsort.U32, extsort.U64:
		n, err := strconv.ParseUint(text, 10, 8*c.width)
		return c.number(int64(n)), err
	case extsort.I8, extsort.I16, extsort.I32, extsort.I64:
		n, err := strconv.ParseInt(text, 10, 8*c.width)
		return c.number(n), err
	case "f16":
		f, err := strconv.ParseFloat(text, 32)
		return c.number(int64(float16.New(float32(f)).Uint16())), err
	case extsort.F32:
		f, err := strconv.ParseFloat(text, 32)
		return c.number(int64(math.Float32bits(float32(f)))), err
	case extsort.F64:
		f, err := strconv.ParseFloat(text, 64)
		return c.number(int64(math.Float64bits(f))), err
	}
	value, err := parseHex(text)
	if err == nil && len(value) != c.width {
		err = strconv.ErrRange
	}
	return value, err
}

func parseHex(text string) ([]byte, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return []byte(text), nil
	}
	return hex.DecodeString(digits)
}
