package columns

import (
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/extsort/extsort"
)

// A Key is a column to sort by.
type Key struct {
	Column string // its path: names of groups and of the column, separated by periods
	Desc   bool
}

// A column is the place of one leaf of the schema in a record.
type column struct {
	leaf   *schema.Column
	index  int
	offset int // of the value
	width  int
	flip   bool // invert the sign bit of the first byte: a key that is a big-endian signed number

	maxLevel   int16 // definition level of a value; less: a null
	levelPlace int   // byte of the level
	levelMask  byte  // bit of the level; 0: the level has a whole byte

	isNullableKey bool
	orderPlace    int // byte of the null order, for a nullable key
}

// A layout describes the records of a schema.
type layout struct {
	columns    []*column
	keys       []extsort.KeyField
	recordSize int
	nullOrder  byte // the order byte of a null
}

// order bytes of a nullable key.
const (
	orderNullFirst = 0
	orderValue     = 1
	orderNullLast  = 2
)

// maxWidth is the maximum width of a column, in bytes.
const maxWidth = 1 << 16

// newLayout arranges the columns of a schema in a record.
func newLayout(s *schema.Schema, keys []Key, nullsFirst bool) (*layout, error) {
	l := &layout{nullOrder: orderNullLast}
	if nullsFirst {
		l.nullOrder = orderNullFirst
	}
	for i := range s.NumColumns() {
		c, err := newColumn(s.Column(i), i)
		if err != nil {
			return nil, err
		}
		l.columns = append(l.columns, c)
	}
	chosen, err := l.find(keys)
	if err != nil {
		return nil, err
	}
	l.placeOrders(chosen)
	l.placeValues()
	l.placeLevels()
	for i, c := range chosen {
		if err := l.addKey(c, keys[i].Desc); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// newColumn returns a column without a place.
func newColumn(leaf *schema.Column, index int) (*column, error) {
	c := &column{leaf: leaf, index: index, maxLevel: leaf.MaxDefinitionLevel()}
	if leaf.MaxRepetitionLevel() > 0 {
		return nil, fmt.Errorf("column %s is a list or a map: only columns of fixed width can be sorted", leaf.Path())
	}
	if c.maxLevel > math.MaxInt8 {
		return nil, fmt.Errorf("column %s is nested %d levels deep, more than 127", leaf.Path(), c.maxLevel)
	}
	switch leaf.PhysicalType() {
	case parquet.Types.Boolean:
		c.width = 1
	case parquet.Types.Int32, parquet.Types.Float:
		c.width = 4
	case parquet.Types.Int64, parquet.Types.Double:
		c.width = 8
	case parquet.Types.Int96:
		c.width = parquet.Int96SizeBytes
	case parquet.Types.FixedLenByteArray:
		c.width = leaf.TypeLength()
		if c.width <= 0 || c.width > maxWidth {
			return nil, fmt.Errorf("column %s has %d bytes: 1 to %d can be sorted", leaf.Path(), c.width, maxWidth)
		}
	default:
		return nil, fmt.Errorf("column %s has values of variable width (%s): only columns of fixed width can be sorted",
			leaf.Path(), typeName(leaf))
	}
	return c, nil
}

// typeName returns the type of a leaf for messages.
func typeName(leaf *schema.Column) string {
	if logical := leaf.LogicalType(); logical != nil && !logical.IsNone() {
		return strings.ToLower(logical.String())
	}
	return strings.ToLower(leaf.PhysicalType().String())
}

// find returns the columns of the keys.
func (l *layout) find(keys []Key) (chosen []*column, err error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("no key: name a column to sort by; the columns are %s", l.names())
	}
	for _, key := range keys {
		c := l.named(key.Column)
		if c == nil {
			return nil, fmt.Errorf("no column %q: the columns are %s", key.Column, l.names())
		}
		chosen = append(chosen, c)
	}
	return chosen, nil
}

func (l *layout) named(path string) *column {
	for _, c := range l.columns {
		if c.leaf.Path() == path {
			return c
		}
	}
	return nil
}

// names lists the columns for a message, which it keeps short.
func (l *layout) names() string {
	const most = 80
	text := ""
	for i, c := range l.columns {
		name := c.leaf.Path()
		if len(text)+len(name) > most {
			return text + fmt.Sprintf(" and %d more", len(l.columns)-i)
		}
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}

// placeOrders places the order bytes of nullable keys.
func (l *layout) placeOrders(keys []*column) {
	for _, c := range keys {
		if c.maxLevel == 0 || c.isNullableKey {
			continue
		}
		c.isNullableKey = true
		c.orderPlace = l.recordSize
		l.recordSize++
	}
}

func (l *layout) placeValues() {
	for _, c := range l.columns {
		c.offset = l.recordSize
		l.recordSize += c.width
	}
}

func (l *layout) placeLevels() {
	bits := 0
	for _, c := range l.columns {
		switch {
		case c.maxLevel == 0:
		case c.maxLevel == 1:
			c.levelPlace = bits / 8
			c.levelMask = 1 << (bits % 8)
			bits++
		default:
			c.levelPlace = l.recordSize
			l.recordSize++
		}
	}
	for _, c := range l.columns {
		if c.levelMask != 0 {
			c.levelPlace += l.recordSize
		}
	}
	l.recordSize += (bits + 7) / 8
}

// addKey adds the key fields of a column.
func (l *layout) addKey(c *column, desc bool) error {
	fields, err := c.keyFields()
	if err != nil {
		return err
	}
	if c.isNullableKey {
		l.keys = append(l.keys, extsort.KeyField{Offset: c.orderPlace, Type: extsort.U8})
	}
	for _, field := range fields {
		field.Desc = desc
		l.keys = append(l.keys, field)
	}
	return nil
}

// keyFields returns the fields that order the values of the column.
func (c *column) keyFields() ([]extsort.KeyField, error) {
	one := func(t extsort.Type) ([]extsort.KeyField, error) {
		return []extsort.KeyField{{Offset: c.offset, Type: t}}, nil
	}
	switch c.leaf.PhysicalType() {
	case parquet.Types.Boolean:
		return one(extsort.U8)
	case parquet.Types.Float:
		return one(extsort.F32)
	case parquet.Types.Double:
		return one(extsort.F64)
	case parquet.Types.Int32:
		if c.isUnsigned() {
			return one(extsort.U32)
		}
		return one(extsort.I32)
	case parquet.Types.Int64:
		if c.isUnsigned() {
			return one(extsort.U64)
		}
		return one(extsort.I64)
	case parquet.Types.Int96: // nanoseconds of the day, then the day
		return []extsort.KeyField{{Offset: c.offset + 8, Type: extsort.I32}, {Offset: c.offset, Type: extsort.I64}}, nil
	}
	switch c.leaf.LogicalType().(type) {
	case schema.Float16LogicalType:
		return one("f16")
	case schema.IntervalLogicalType:
		return nil, fmt.Errorf("key %s is an interval, which has no order", c.leaf.Path())
	}
	c.flip = c.isDecimal()
	return one(extsort.Bytes(c.width))
}

func (c *column) isUnsigned() bool {
	return c.leaf.SortOrder() == schema.SortUNSIGNED
}

func (c *column) isDecimal() bool {
	_, logical := c.leaf.LogicalType().(schema.DecimalLogicalType)
	if !logical {
		_, logical = c.leaf.LogicalType().(*schema.DecimalLogicalType)
	}
	return logical || c.leaf.ConvertedType() == schema.ConvertedTypes.Decimal
}
