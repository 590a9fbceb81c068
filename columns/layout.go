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

// A column is one leaf of the schema, with its place in a record.
type column struct {
	name       string // the path of the leaf
	index      int
	leaf       *schema.Column // of a Parquet file
	isVariable bool           // its values have any length
	width      int            // of the value, or of the slot in which a key of variable width begins

	fields    []extsort.KeyField // order the values; offsets count from the value
	unordered string             // why the column cannot be a key, or ""
	isSigned  bool               // as a key, the first byte of the value has a sign
	isKey     bool

	offset int  // of the value
	flip   bool // the sign bit of the first byte is inverted

	prefix      int // bytes of a value of variable width that the slot holds
	lengthPlace int // 4 bytes: the length of a value of variable width

	maxLevel   int16 // definition level of a value; less: a null
	levelPlace int   // byte of the level
	levelMask  byte  // bit of the level; 0: the level has a whole byte

	isNullableKey bool
	orderPlace    int // byte of the null order, for a nullable key
}

// A layout describes the records of a schema.
type layout struct {
	columns    []*column
	variable   []*column // those of variable width
	chosen     []*column // the columns of the keys
	desc       []bool    // for each key
	keys       []extsort.KeyField
	keyBytes   int  // bytes that begin each piece of a row, if there are columns of variable width
	headBytes  int  // bytes before the values of variable width
	recordSize int  // the size of a piece
	nullOrder  byte // the order byte of a null
}

// order bytes of a nullable key.
const (
	orderNullFirst = 0
	orderValue     = 1
	orderNullLast  = 2
)

// maxWidth is the maximum width of a column of fixed width, in bytes.
const maxWidth = 1 << 16

// newLayout finds the columns of the keys. The columns have no places yet.
func newLayout(columns []*column, keys []Key, nullsFirst bool) (*layout, error) {
	l := &layout{columns: columns, nullOrder: orderNullLast}
	if nullsFirst {
		l.nullOrder = orderNullFirst
	}
	for _, c := range columns {
		if c.isVariable {
			l.variable = append(l.variable, c)
		}
	}
	if err := l.find(keys); err != nil {
		return nil, err
	}
	for _, c := range l.chosen {
		if c.unordered != "" {
			return nil, fmt.Errorf("key %s %s", c.name, c.unordered)
		}
		c.isKey = true
		c.flip = c.isSigned
	}
	return l, nil
}

// arrange places the columns in a record. The sample decides how many bytes of values of variable
// width a record holds.
func (l *layout) arrange(s *sample) {
	for _, c := range l.variable {
		if c.isKey {
			c.prefix = s.prefix(l.variable, c)
			c.width = c.prefix + 1
			c.fields = []extsort.KeyField{{Type: extsort.Bytes(c.width)}}
		}
	}
	l.placeOrders()
	l.placeValues()
	l.placeLevels()
	l.headBytes = l.recordSize
	if len(l.variable) > 0 {
		l.recordSize = s.recordSize(l)
	}
	for i, c := range l.chosen {
		l.addKey(c, l.desc[i])
	}
}

// parquetColumns returns the columns of a schema.
func parquetColumns(s *schema.Schema) (all []*column, err error) {
	for i := range s.NumColumns() {
		c, err := newColumn(s.Column(i), i)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// newColumn returns a column without a place.
func newColumn(leaf *schema.Column, index int) (*column, error) {
	c := &column{name: leaf.Path(), leaf: leaf, index: index, maxLevel: leaf.MaxDefinitionLevel()}
	if leaf.MaxRepetitionLevel() > 0 {
		return nil, fmt.Errorf("column %s is a list or a map, which cannot be sorted: leave it out", c.name)
	}
	if c.maxLevel > math.MaxInt8 {
		return nil, fmt.Errorf("column %s is nested %d levels deep, more than 127", c.name, c.maxLevel)
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
			return nil, fmt.Errorf("column %s has %d bytes: 1 to %d can be sorted", c.name, c.width, maxWidth)
		}
	case parquet.Types.ByteArray:
		c.isVariable = true
	default:
		return nil, fmt.Errorf("column %s has an unknown type (%s)", c.name, typeName(leaf))
	}
	c.setOrder()
	return c, nil
}

// typeName returns the type of a leaf for messages.
func typeName(leaf *schema.Column) string {
	if logical := leaf.LogicalType(); logical != nil && !logical.IsNone() {
		return strings.ToLower(logical.String())
	}
	return strings.ToLower(leaf.PhysicalType().String())
}

// find sets the columns of the keys.
func (l *layout) find(keys []Key) error {
	if len(keys) == 0 {
		return fmt.Errorf("no key: name a column to sort by; the columns are %s", l.names())
	}
	for _, key := range keys {
		c := l.named(key.Column)
		if c == nil {
			return fmt.Errorf("no column %q: the columns are %s", key.Column, l.names())
		}
		l.chosen = append(l.chosen, c)
		l.desc = append(l.desc, key.Desc)
	}
	return nil
}

func (l *layout) named(path string) *column {
	for _, c := range l.columns {
		if c.name == path {
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
		name := c.name
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
func (l *layout) placeOrders() {
	for _, c := range l.chosen {
		if c.maxLevel == 0 || c.isNullableKey {
			continue
		}
		c.isNullableKey = true
		c.orderPlace = l.recordSize
		l.recordSize++
	}
}

// placeValues places the values of fixed width, the keys first, and what is known of the others.
func (l *layout) placeValues() {
	place := func(areKeys bool) {
		for _, c := range l.columns {
			if c.isKey == areKeys {
				c.offset = l.recordSize
				l.recordSize += c.width
			}
		}
	}
	place(true)
	l.keyBytes = l.recordSize
	if len(l.variable) > 0 {
		l.recordSize += pieceMark
	}
	place(false)
	for _, c := range l.variable {
		c.lengthPlace = l.recordSize
		l.recordSize += 4
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
func (l *layout) addKey(c *column, desc bool) {
	if c.isNullableKey {
		l.keys = append(l.keys, extsort.KeyField{Offset: c.orderPlace, Type: extsort.U8})
	}
	for _, field := range c.fields {
		field.Offset += c.offset
		field.Desc = desc
		l.keys = append(l.keys, field)
	}
}

// setOrder sets the fields that order the values of a column of a Parquet file.
func (c *column) setOrder() {
	one := func(t extsort.Type) { c.fields = []extsort.KeyField{{Type: t}} }
	switch c.leaf.PhysicalType() {
	case parquet.Types.Boolean:
		one(extsort.U8)
	case parquet.Types.Float:
		one(extsort.F32)
	case parquet.Types.Double:
		one(extsort.F64)
	case parquet.Types.Int32:
		one(extsort.I32)
		if c.isUnsigned() {
			one(extsort.U32)
		}
	case parquet.Types.Int64:
		one(extsort.I64)
		if c.isUnsigned() {
			one(extsort.U64)
		}
	case parquet.Types.Int96: // nanoseconds of the day, then the day
		c.fields = []extsort.KeyField{{Offset: 8, Type: extsort.I32}, {Offset: 0, Type: extsort.I64}}
	case parquet.Types.ByteArray:
		if !c.isUnsigned() {
			c.unordered = "has the type " + typeName(c.leaf) + ", which has no order by bytes"
		}
	case parquet.Types.FixedLenByteArray:
		c.setBytesOrder()
	}
}

// setBytesOrder is setOrder for bytes of fixed width.
func (c *column) setBytesOrder() {
	c.fields = []extsort.KeyField{{Type: extsort.Bytes(c.width)}}
	switch c.leaf.LogicalType().(type) {
	case schema.Float16LogicalType:
		c.fields = []extsort.KeyField{{Type: "f16"}}
	case schema.IntervalLogicalType:
		c.unordered = "is an interval, which has no order"
	}
	c.isSigned = c.isDecimal()
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
