package columns

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/extsort/extsort"
)

// A Key is a column to sort by.
type Key struct {
	Column string // its path: names of groups and of the column, separated by periods
	Desc   bool

	// Compute replaces Column by a function of columns, such as hilbert(lon,lat); see extsort.KeyField.
	Compute string
}

// A column is one leaf of the schema, with its place in a record.
type column struct {
	name       string // the path of the leaf
	index      int
	leaf       *schema.Column // of a Parquet file
	arrowType  arrow.DataType // of Arrow data
	isVariable bool           // its values have any length
	width      int            // of the value, or of the slot in which a key of variable width begins

	fields    []extsort.KeyField // order the values; offsets count from the value
	unordered string             // why the column cannot be a key, or ""
	refused   error              // why the column cannot be read, or nil
	isSigned  bool               // as a key, the first byte of the value has a sign
	isKey     bool

	offset int  // of the value
	flip   bool // the sign bit of the first byte is inverted

	prefix      int // bytes of a value of variable width that the slot holds
	lengthPlace int // 4 bytes: the length of a value of variable width

	compact          // by the statistics
	maxLevel   int16 // definition level of a value; less: a null
	levelPlace int   // byte of the level
	levelMask  byte  // bit of the level; 0: the level has a whole byte

	isNullableKey bool
	hasOrder      bool // has an order byte although it has no nulls, because the column of another input has
	orderPlace    int  // byte of the null order, for a nullable key
}

// A layout describes the records of a schema.
type layout struct {
	columns    []*column
	variable   []*column // those of variable width
	chosen     []*column // the columns of the keys
	desc       []bool    // for each key
	keys       []extsort.KeyField
	keyBytes   int       // bytes that begin each piece of a row, if there are columns of variable width
	headBytes  int       // bytes before the values of variable width
	savedBytes int       // how much larger a row is when its integers have their full width
	recordSize int       // the size of a piece
	added      []*column // columns that only the output has
	order      []orderedKey
	computed   []*computedKey
	kept       *column // for a computed key; nil: it is not stored
	nullOrder  byte    // the order byte of a null
}

// An orderedKey is a column or a computed key.
type orderedKey struct {
	column   *column
	computed *computedKey
	desc     bool
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
		if c.refused != nil {
			return nil, c.refused
		}
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
	for _, k := range l.computed {
		for _, arg := range k.args {
			arg.column.isKey = true
		}
	}
	return l, nil
}

// keyColumns returns the columns of the keys, including those of computed keys.
func (l *layout) keyColumns() []*column {
	all := slices.Clip(l.chosen)
	for _, k := range l.computed {
		for _, arg := range k.args {
			all = append(all, arg.column)
		}
	}
	return all
}

// arrange places the columns in a record. The sample decides how many bytes of values of variable
// width a record holds.
func (l *layout) arrange(s *sample) {
	for _, c := range l.variable {
		if c.isKey {
			c.setSlot(s.prefix(l.variable, c))
		}
	}
	l.place(s)
}

// setSlot sets the size of the slot of a key of variable width.
func (c *column) setSlot(prefix int) {
	c.prefix = prefix
	c.width = prefix + 1
	c.fields = []extsort.KeyField{{Type: extsort.Bytes(c.width)}}
}

// place places the columns, whose slots have sizes.
func (l *layout) place(s *sample) {
	l.placeOrders()
	l.placeValues()
	l.placeLevels()
	l.headBytes = l.recordSize
	if len(l.variable) > 0 {
		l.recordSize = s.recordSize(l)
	}
	for _, key := range l.order {
		if key.computed != nil {
			l.addComputed(key.computed)
		} else {
			l.addKey(key.column, key.desc)
		}
	}
}

// parquetColumns returns the columns of a schema, including those that cannot be read.
func parquetColumns(s *schema.Schema) (all []*column) {
	for i := range s.NumColumns() {
		c, err := newColumn(s.Column(i), i)
		c.refused = err
		all = append(all, c)
	}
	return all
}

// newColumn returns a column without a place.
func newColumn(leaf *schema.Column, index int) (*column, error) {
	c := &column{name: leaf.Path(), leaf: leaf, index: index, maxLevel: leaf.MaxDefinitionLevel()}
	if leaf.MaxRepetitionLevel() > 0 {
		return c, fmt.Errorf("column %s is a list or a map, which cannot be sorted: leave it out", c.name)
	}
	if c.maxLevel > math.MaxInt8 {
		return c, fmt.Errorf("column %s is nested %d levels deep, more than 127", c.name, c.maxLevel)
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
			return c, fmt.Errorf("column %s has %d bytes: 1 to %d can be sorted", c.name, c.width, maxWidth)
		}
	case parquet.Types.ByteArray:
		c.isVariable = true
	default:
		return c, fmt.Errorf("column %s has an unknown type (%s)", c.name, typeName(leaf))
	}
	c.setOrder()
	return c, nil
}

// typeName returns the type of a leaf for messages.
func typeName(leaf *schema.Column) string {
	units := map[schema.TimeUnitType]string{
		schema.TimeUnitMillis: "ms", schema.TimeUnitMicros: "us", schema.TimeUnitNanos: "ns",
	}
	switch t := leaf.LogicalType().(type) {
	case schema.IntLogicalType:
		return intName(t.BitWidth(), t.IsSigned())
	case *schema.IntLogicalType:
		return intName(t.BitWidth(), t.IsSigned())
	case schema.DecimalLogicalType:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision(), t.Scale())
	case *schema.DecimalLogicalType:
		return fmt.Sprintf("decimal(%d,%d)", t.Precision(), t.Scale())
	case schema.TimeLogicalType:
		return "time[" + units[t.TimeUnit()] + "]"
	case *schema.TimeLogicalType:
		return "time[" + units[t.TimeUnit()] + "]"
	case schema.TimestampLogicalType:
		return "timestamp[" + units[t.TimeUnit()] + zoneName(t.IsAdjustedToUTC()) + "]"
	case *schema.TimestampLogicalType:
		return "timestamp[" + units[t.TimeUnit()] + zoneName(t.IsAdjustedToUTC()) + "]"
	}
	if logical := leaf.LogicalType(); logical != nil && !logical.IsNone() {
		return strings.ToLower(logical.String())
	}
	return strings.ToLower(leaf.PhysicalType().String())
}

func intName(bits int8, isSigned bool) string {
	if isSigned {
		return fmt.Sprintf("int%d", bits)
	}
	return fmt.Sprintf("uint%d", bits)
}

func zoneName(isUTC bool) string {
	if isUTC {
		return ", UTC"
	}
	return ""
}

// typeText returns the type of a column for messages and for people.
func (c *column) typeText() string {
	if c.leaf == nil {
		return c.arrowType.String()
	}
	return typeName(c.leaf)
}

// find sets the columns of the keys.
func (l *layout) find(keys []Key) error {
	for _, key := range keys {
		if key.Compute != "" {
			k, err := parseComputed(l.columns, key)
			if err != nil {
				return err
			}
			l.computed = append(l.computed, k)
			l.order = append(l.order, orderedKey{computed: k, desc: key.Desc})
			continue
		}
		c, err := columnNamed(l.columns, key.Column)
		if err != nil {
			return err
		}
		l.order = append(l.order, orderedKey{column: c, desc: key.Desc})
		l.chosen = append(l.chosen, c)
		l.desc = append(l.desc, key.Desc)
	}
	return nil
}

// columnNamed returns the column with a path. Names may contain periods, and Arrow data may have a name twice.
func columnNamed(columns []*column, path string) (found *column, err error) {
	for _, c := range columns {
		switch {
		case c.name != path:
		case found != nil:
			return nil, fmt.Errorf("two columns are named %q: rename one", path)
		default:
			found = c
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no column %q: the columns are %s", path, namesOf(columns))
	}
	return found, nil
}

// namesOf lists columns for a message, which it keeps short.
func namesOf(columns []*column) string {
	const most = 80
	text := ""
	for i, c := range columns {
		name := c.name
		if len(text)+len(name) > most {
			return text + fmt.Sprintf(" and %d more", len(columns)-i)
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
	for _, c := range l.keyColumns() {
		if !c.isNullable() && !c.hasOrder || c.isNullableKey {
			continue
		}
		c.isNullableKey = true
		c.orderPlace = l.recordSize
		l.recordSize++
	}
}

// markValues sets the order bytes of keys without nulls.
func (l *layout) markValues(r rows) {
	for _, c := range l.chosen {
		if c.maxLevel > 0 || !c.isNullableKey {
			continue
		}
		for i := range r.count {
			r.data[r.at(i)+c.orderPlace] = orderValue
		}
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
	if l.kept != nil {
		l.kept.offset = l.recordSize
		l.recordSize += l.kept.width
	}
	for _, c := range l.variable {
		c.lengthPlace = l.recordSize
		l.recordSize += 4
	}
}

func (l *layout) placeLevels() {
	bits := 0
	for _, c := range l.columns {
		switch {
		case !c.isNullable():
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

// isNullable reports whether records have a level for the column.
func (c *column) isNullable() bool { return c.maxLevel > 0 && !c.isComplete }

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
