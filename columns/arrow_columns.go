package columns

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/extsort/extsort"
)

// newBatchDecoder returns a decoder of a record batch.
func newBatchDecoder(batch arrow.RecordBatch, l *layout, maxRows int) (*rowDecoder, error) {
	d := &rowDecoder{layout: l, left: batch.NumRows(), maxRows: maxRows}
	for _, c := range l.columns {
		values := storageOf(batch.Column(c.index))
		if int64(values.Len()) != d.left {
			return nil, fmt.Errorf("column %s has %d values in %d rows", c.name, values.Len(), d.left)
		}
		if c.maxLevel == 0 && values.NullN() > 0 {
			return nil, fmt.Errorf("column %s has nulls, which its schema excludes", c.name)
		}
		if c.isVariable {
			v, err := newArrowVariable(c, values, maxRows)
			if err != nil {
				return nil, err
			}
			d.variable = append(d.variable, v)
			continue
		}
		f, err := newArrowFixed(c, l, values, maxRows)
		if err != nil {
			return nil, err
		}
		d.fixed = append(d.fixed, f)
	}
	return d, nil
}

// storageOf returns the values of an array of an extension type.
func storageOf(values arrow.Array) arrow.Array {
	for {
		extension, ok := values.(array.ExtensionArray)
		if !ok {
			return values
		}
		values = extension.Storage()
	}
}

func storageType(t arrow.DataType) arrow.DataType {
	for {
		extension, ok := t.(arrow.ExtensionType)
		if !ok {
			return t
		}
		t = extension.StorageType()
	}
}

// An arrowType is the width and the order of the values of a type.
type arrowType struct {
	width  int
	fields []extsort.KeyField // none: the type has no order
}

func orderedBy(width int, t extsort.Type) arrowType {
	return arrowType{width: width, fields: []extsort.KeyField{{Type: t}}}
}

// arrowTypes lists the types of fixed width.
var arrowTypes = map[arrow.Type]arrowType{
	arrow.BOOL:                    orderedBy(1, extsort.U8),
	arrow.INT8:                    orderedBy(1, extsort.I8),
	arrow.INT16:                   orderedBy(2, extsort.I16),
	arrow.INT32:                   orderedBy(4, extsort.I32),
	arrow.INT64:                   orderedBy(8, extsort.I64),
	arrow.UINT8:                   orderedBy(1, extsort.U8),
	arrow.UINT16:                  orderedBy(2, extsort.U16),
	arrow.UINT32:                  orderedBy(4, extsort.U32),
	arrow.UINT64:                  orderedBy(8, extsort.U64),
	arrow.FLOAT16:                 orderedBy(2, "f16"),
	arrow.FLOAT32:                 orderedBy(4, extsort.F32),
	arrow.FLOAT64:                 orderedBy(8, extsort.F64),
	arrow.DATE32:                  orderedBy(4, extsort.I32),
	arrow.DATE64:                  orderedBy(8, extsort.I64),
	arrow.TIME32:                  orderedBy(4, extsort.I32),
	arrow.TIME64:                  orderedBy(8, extsort.I64),
	arrow.TIMESTAMP:               orderedBy(8, extsort.I64),
	arrow.DURATION:                orderedBy(8, extsort.I64),
	arrow.DECIMAL32:               orderedBy(4, extsort.I32),
	arrow.DECIMAL64:               orderedBy(8, extsort.I64),
	arrow.DECIMAL128:              orderedBy(16, "i128"),
	arrow.DECIMAL256:              {32, []extsort.KeyField{{Offset: 16, Type: "i128"}, {Type: "u128"}}},
	arrow.INTERVAL_MONTHS:         orderedBy(4, extsort.I32),
	arrow.INTERVAL_DAY_TIME:       {width: 8},
	arrow.INTERVAL_MONTH_DAY_NANO: {width: 16},
}

// setArrowType sets the width and the order of a column.
func (c *column) setArrowType(t arrow.DataType) error {
	switch t := t.(type) {
	case *arrow.FixedSizeBinaryType:
		c.width = t.ByteWidth
		if c.width <= 0 || c.width > maxWidth {
			return fmt.Errorf("column %s has %d bytes: 1 to %d can be sorted", c.name, c.width, maxWidth)
		}
		c.fields = []extsort.KeyField{{Type: extsort.Bytes(c.width)}}
		return nil
	case *arrow.DictionaryType:
		if !isArrowText(t.ValueType) {
			return fmt.Errorf("column %s is a dictionary of %s: only dictionaries of strings can be sorted", c.name, t.ValueType)
		}
		c.isVariable = true
		return nil
	}
	if isArrowText(t) {
		c.isVariable = true
		return nil
	}
	fixed, ok := arrowTypes[t.ID()]
	if !ok {
		return fmt.Errorf("column %s has the type %s, which cannot be sorted: leave it out", c.name, t.ID())
	}
	c.width = fixed.width
	c.fields = fixed.fields
	if len(fixed.fields) == 0 {
		c.unordered = "is an interval, which has no order"
	}
	return nil
}

// isArrowText reports whether the values are bytes of variable width.
func isArrowText(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.STRING_VIEW, arrow.BINARY_VIEW:
		return true
	}
	return false
}

// An arrowFixed reads values of fixed width from an array.
type arrowFixed struct {
	column *column
	layout *layout
	array  arrow.Array
	values []byte
	next   int
	levels []int16 // nil: the column has no nulls
}

func newArrowFixed(c *column, l *layout, values arrow.Array, maxRows int) (*arrowFixed, error) {
	d := &arrowFixed{column: c, layout: l, array: values}
	if c.maxLevel > 0 {
		d.levels = make([]int16, maxRows)
	}
	data := values.Data()
	if len(data.Buffers()) != 2 {
		return nil, fmt.Errorf("column %s has %d buffers", c.name, len(data.Buffers()))
	}
	end := (data.Offset() + data.Len()) * c.width
	if values.DataType().ID() == arrow.BOOL {
		end = int(bitutil.BytesForBits(int64(data.Offset() + data.Len())))
	}
	if buffer := data.Buffers()[1]; buffer != nil {
		d.values = buffer.Bytes()
	}
	if len(d.values) < end {
		return nil, fmt.Errorf("column %s has %d bytes instead of %d", c.name, len(d.values), end)
	}
	d.next = data.Offset()
	return d, nil
}

func (d *arrowFixed) decode(r rows) error {
	if d.levels != nil {
		row := d.next - d.array.Data().Offset()
		for i := range d.levels[:r.count] {
			d.levels[i] = 1
			if d.array.IsNull(row + i) {
				d.levels[i] = 0
			}
		}
		d.column.placeLevels(r, d.levels, d.layout.nullOrder)
	}
	d.place(r)
	d.next += r.count
	if d.levels != nil && d.array.NullN() > 0 {
		for i, level := range d.levels[:r.count] {
			if level == 0 {
				at := r.at(i) + d.column.offset
				clear(r.data[at : at+d.column.width])
			}
		}
	}
	return nil
}

// place copies the values, also those of nulls.
func (d *arrowFixed) place(r rows) {
	width := d.column.width
	offset := d.column.offset
	switch {
	case d.array.DataType().ID() == arrow.BOOL:
		for i := range r.count {
			if bitutil.BitIsSet(d.values, d.next+i) {
				r.data[r.at(i)+offset] = 1
			}
		}
	case width == 4:
		values := d.values[d.next*width:]
		for i := range r.count {
			binary.LittleEndian.PutUint32(r.data[r.at(i)+offset:], binary.LittleEndian.Uint32(values[4*i:]))
		}
	case width == 8:
		values := d.values[d.next*width:]
		for i := range r.count {
			binary.LittleEndian.PutUint64(r.data[r.at(i)+offset:], binary.LittleEndian.Uint64(values[8*i:]))
		}
	default:
		values := d.values[d.next*width:]
		for i := range r.count {
			copy(r.data[r.at(i)+offset:], values[i*width:(i+1)*width])
		}
	}
}

// newArrowVariable returns a decoder for values of variable width.
func newArrowVariable(c *column, values arrow.Array, maxRows int) (*variableDecoder, error) {
	at, err := bytesOfArray(values)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", c.name, err)
	}
	d := &variableDecoder{column: c, values: make([]parquet.ByteArray, maxRows)}
	if c.maxLevel > 0 {
		d.levels = make([]int16, maxRows)
	}
	next := 0
	isNull := nullsOf(values)
	d.read = func(into []parquet.ByteArray, levels []int16) (int, error) {
		n := min(len(into), values.Len()-next)
		for i := range n {
			level := int16(1)
			into[i] = nil
			if isNull(next + i) {
				level = 0
			} else {
				into[i] = at(next + i)
			}
			switch {
			case levels != nil:
				levels[i] = level
			case level == 0:
				return 0, fmt.Errorf("column %s has nulls, which its schema excludes", c.name)
			}
		}
		next += n
		if n == 0 {
			return 0, fmt.Errorf("column %s ends early", c.name)
		}
		return n, nil
	}
	return d, nil
}

// nullsOf returns a function that reports nulls. Entries of dictionaries can be null, too.
func nullsOf(values arrow.Array) func(i int) bool {
	a, ok := values.(*array.Dictionary)
	if !ok || a.Dictionary().NullN() == 0 {
		return values.IsNull
	}
	return func(i int) bool { return a.IsNull(i) || a.Dictionary().IsNull(a.GetValueIndex(i)) }
}

// bytesOfArray returns a function that returns values of an array.
func bytesOfArray(values arrow.Array) (func(i int) []byte, error) {
	switch a := values.(type) {
	case *array.Binary:
		return a.Value, nil
	case *array.LargeBinary:
		return a.Value, nil
	case *array.BinaryView:
		return a.Value, nil
	case *array.String:
		return bytesOfStrings(a.Value), nil
	case *array.LargeString:
		return bytesOfStrings(a.Value), nil
	case *array.StringView:
		return bytesOfStrings(a.Value), nil
	case *array.Dictionary:
		entry, err := bytesOfArray(storageOf(a.Dictionary()))
		return func(i int) []byte { return entry(a.GetValueIndex(i)) }, err
	}
	return nil, fmt.Errorf("has the type %s", values.DataType())
}

func bytesOfStrings(at func(i int) string) func(i int) []byte {
	return func(i int) []byte {
		text := at(i)
		return unsafe.Slice(unsafe.StringData(text), len(text))
	}
}
