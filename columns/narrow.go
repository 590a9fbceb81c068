package columns

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/extsort/extsort"
)

// The statistics of Parquet files make records smaller. An integer is stored as its difference from
// the minimum, in as many bytes as the largest difference needs. A column without nulls has no
// levels:
//
//	minimum     1 992 001    statistics of all row groups
//	maximum     1 998 310
//	value       1 995 103    4 or 8 bytes
//	difference      3 102    2 bytes
//
// Statistics can be wrong, so decoders check each value. If a check fails, the sort starts again
// without statistics.

// errStatistics means that the statistics of a file are wrong.
var errStatistics = errors.New("the statistics of the file are wrong")

// A compact says how a column is stored in fewer bytes.
type compact struct {
	isComplete bool   // it has no nulls, and the records no levels
	isNarrow   bool   // the records hold differences
	base       int64  // the minimum
	span       uint64 // the largest difference
}

// columnFacts are the statistics of a column in all inputs.
type columnFacts struct {
	hasNulls bool // there may be nulls
	hasRange bool // all values are integers, from low to high
	isEmpty  bool // no value has been seen
	low      uint64
	high     uint64
}

var unknownFacts = columnFacts{hasNulls: true}

// narrow chooses the widths of columns by the statistics of Parquet files. arrange must follow.
func (l *layout) narrow(inputs []input) {
	for _, c := range l.columns {
		facts := columnFacts{hasRange: !l.isArgument(c), isEmpty: true}
		for _, in := range inputs {
			file, ok := in.(*parquetFile)
			if !ok {
				return
			}
			facts = file.addFacts(c, facts)
		}
		full := c.width
		c.narrow(facts)
		l.savedBytes += full - c.width
	}
}

// isArgument reports whether a key is computed from the column, whose values then keep their form.
func (l *layout) isArgument(c *column) bool {
	for _, k := range l.computed {
		for _, arg := range k.args {
			if arg.column == c {
				return true
			}
		}
	}
	return false
}

// addFacts adds the statistics of the row groups. Wrong statistics can make the library panic.
func (in *parquetFile) addFacts(c *column, facts columnFacts) (all columnFacts) {
	defer func() {
		if recover() != nil {
			all = unknownFacts
		}
	}()
	meta := in.reader.MetaData()
	for i := range meta.NumRowGroups() {
		chunk, err := meta.RowGroup(i).ColumnChunk(c.index)
		if err != nil {
			return unknownFacts
		}
		statistics, err := chunk.Statistics()
		if err != nil || statistics == nil {
			return unknownFacts
		}
		facts.add(c, statistics, chunk.NumValues())
	}
	return facts
}

// add adds the statistics of some rows. The library reads a missing number of nulls as 0.
func (f *columnFacts) add(c *column, s metadata.TypedStatistics, rows int64) {
	f.hasNulls = f.hasNulls || s.NullCount() > 0
	if s.NullCount() == rows {
		return
	}
	low, high, ok := c.rangeOf(s)
	if !ok || low > high {
		f.hasRange = false
		return
	}
	if f.isEmpty {
		f.low = low
	}
	f.low = min(f.low, low)
	f.high = max(f.high, high)
	f.isEmpty = false
}

// rangeOf returns the minimum and the maximum of integers, as numbers in the order of the values.
func (c *column) rangeOf(s metadata.TypedStatistics) (low, high uint64, ok bool) {
	if !s.HasMinMax() {
		return 0, 0, false
	}
	switch s := s.(type) {
	case *metadata.Int32Statistics:
		if c.isUnsigned() {
			return uint64(uint32(s.Min())), uint64(uint32(s.Max())), true
		}
		return c.ordered(int64(s.Min())), c.ordered(int64(s.Max())), true
	case *metadata.Int64Statistics:
		return c.ordered(s.Min()), c.ordered(s.Max()), true
	}
	return 0, 0, false
}

// ordered returns a number in the order of the values. It is its own inverse.
func (c *column) ordered(value int64) uint64 {
	if c.isUnsigned() {
		return uint64(value)
	}
	return uint64(value) ^ 1<<63
}

// narrow chooses the width of a column and whether it has levels.
func (c *column) narrow(facts columnFacts) {
	c.isComplete = !facts.hasNulls
	if !facts.hasRange || c.isVariable {
		return
	}
	physical := c.leaf.PhysicalType()
	if physical != parquet.Types.Int32 && physical != parquet.Types.Int64 {
		return
	}
	c.isNarrow = true
	c.span = facts.high - facts.low
	if !facts.isEmpty {
		c.base = int64(c.ordered(int64(facts.low)))
	}
	c.width = (bits.Len64(c.span) + 7) / 8
	if !c.isKey {
		return
	}
	switch {
	case c.width <= 1:
		c.width = 1
		c.fields = []extsort.KeyField{{Type: extsort.U8}}
	case c.width == 2:
		c.fields = []extsort.KeyField{{Type: extsort.U16}}
	case c.width <= 4:
		c.width = 4
		c.fields = []extsort.KeyField{{Type: extsort.U32}}
	default:
		c.width = 8
		c.fields = []extsort.KeyField{{Type: extsort.U64}}
	}
}

// difference returns how much larger a value is than the minimum.
func difference[T int32 | int64](value, base T) uint64 {
	if unsafe.Sizeof(value) == 4 {
		return uint64(uint32(value) - uint32(base))
	}
	return uint64(value) - uint64(base)
}

// placeNarrow stores differences as little-endian numbers. The two halves of a number overlap if it
// has an odd number of bytes.
func placeNarrow[T int32 | int64](d *typedDecoder[T], r rows) error {
	c := d.column
	base := T(c.base)
	most := uint64(0)
	values := d.values[:r.count]
	switch {
	case c.width == 0:
		for _, value := range values {
			most = max(most, difference(value, base))
		}
	case c.width == 1:
		for i, value := range values {
			bits := difference(value, base)
			most = max(most, bits)
			r.data[r.at(i)+c.offset] = byte(bits)
		}
	case c.width <= 3:
		second := c.width - 2
		for i, value := range values {
			bits := difference(value, base)
			most = max(most, bits)
			at := r.data[r.at(i)+c.offset:]
			binary.LittleEndian.PutUint16(at, uint16(bits))
			binary.LittleEndian.PutUint16(at[second:], uint16(bits>>(8*second)))
		}
	default:
		second := c.width - 4
		for i, value := range values {
			bits := difference(value, base)
			most = max(most, bits)
			at := r.data[r.at(i)+c.offset:]
			binary.LittleEndian.PutUint32(at, uint32(bits))
			binary.LittleEndian.PutUint32(at[second:], uint32(bits>>(8*second)))
		}
	}
	if most > c.span {
		return errStatistics
	}
	return nil
}

// loadNarrow loads the values that placeNarrow stored.
func loadNarrow[T int32 | int64](e *typedEncoder[T], r rows, values []T) {
	c := e.column
	base := T(c.base)
	switch {
	case c.width == 0:
		for i := range values {
			values[i] = base
		}
	case c.width == 1:
		for i := range values {
			values[i] = base + T(r.data[r.at(i)+c.offset])
		}
	case c.width <= 3:
		second := c.width - 2
		for i := range values {
			at := r.data[r.at(i)+c.offset:]
			bits := uint32(binary.LittleEndian.Uint16(at)) | uint32(binary.LittleEndian.Uint16(at[second:]))<<(8*second)
			values[i] = base + T(bits)
		}
	default:
		second := c.width - 4
		for i := range values {
			at := r.data[r.at(i)+c.offset:]
			bits := uint64(binary.LittleEndian.Uint32(at)) | uint64(binary.LittleEndian.Uint32(at[second:]))<<(8*second)
			values[i] = base + T(bits)
		}
	}
}
