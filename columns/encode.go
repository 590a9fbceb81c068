package columns

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// An encoder writes one column of rows to a column chunk.
type encoder interface {
	encode(r rows) error
}

// A chunkWriter is a writer of arrow-go for one physical type.
type chunkWriter[T any] interface {
	WriteBatch(values []T, defLevels, repLevels []int16) (valueOffset int64, err error)
}

// typedEncoder encodes columns of one physical type.
type typedEncoder[T any] struct {
	column  *column
	writer  chunkWriter[T]
	values  []T
	levels  []int16 // nil: the column has no nulls
	load    func(e *typedEncoder[T], r rows, values []T)
	place   valuePlace // of a value of variable width
	scratch []byte     // holds values that are in two pieces
}

// encodeRows returns the number of rows that an encoder converts at once. Tables of many columns have many encoders.
func (l *layout) encodeRows() int {
	const (
		most        = 4096
		least       = 256
		valueBytes  = 32 // with its level
		memoryBytes = 8 << 20
	)
	return max(least, min(most, memoryBytes/valueBytes/len(l.columns)))
}

func newEncoder(l *layout, c *column, writer file.ColumnChunkWriter) (encoder, error) {
	rows := l.encodeRows()
	switch w := writer.(type) {
	case *file.BooleanColumnChunkWriter:
		return typedFor(c, rows, w, loadBools), nil
	case *file.Int32ColumnChunkWriter:
		if c.isNarrow {
			return typedFor(c, rows, w, loadNarrow[int32]), nil
		}
		return typedFor(c, rows, w, loadValues[int32]), nil
	case *file.Int64ColumnChunkWriter:
		if c.isNarrow {
			return typedFor(c, rows, w, loadNarrow[int64]), nil
		}
		return typedFor(c, rows, w, loadValues[int64]), nil
	case *file.Float32ColumnChunkWriter:
		return typedFor(c, rows, w, loadValues[float32]), nil
	case *file.Float64ColumnChunkWriter:
		return typedFor(c, rows, w, loadValues[float64]), nil
	case *file.Int96ColumnChunkWriter:
		return typedFor(c, rows, w, loadInt96s), nil
	case *file.FixedLenByteArrayColumnChunkWriter:
		return typedFor(c, rows, w, loadBytes), nil
	case *file.ByteArrayColumnChunkWriter:
		e := typedFor(c, rows, w, loadVariable)
		e.place = l.placeOf(c)
		return e, nil
	}
	return nil, fmt.Errorf("column %s: unexpected writer %T", c.name, writer)
}

func typedFor[T any](c *column, rows int, w chunkWriter[T], load func(*typedEncoder[T], rows, []T)) *typedEncoder[T] {
	e := &typedEncoder[T]{column: c, writer: w, values: make([]T, rows), load: load}
	if c.maxLevel > 0 {
		e.levels = make([]int16, rows)
		for i := range e.levels {
			e.levels[i] = c.maxLevel
		}
	}
	return e
}

func (e *typedEncoder[T]) encode(all rows) error {
	for from := 0; from < all.count; from += len(e.values) {
		r := all.part(from, min(len(e.values), all.count-from))
		values := e.values[:r.count]
		e.load(e, r, values)
		var levels []int16
		if e.levels != nil {
			levels = e.levels[:r.count]
		}
		if e.column.isNullable() {
			e.column.loadLevels(r, levels)
			values = e.withoutNulls(values, levels)
		}
		if _, err := e.writer.WriteBatch(values, levels, nil); err != nil {
			return fmt.Errorf("column %s: %w", e.column.name, err)
		}
	}
	return nil
}

// loadLevels reads the definition levels that placeLevels stored.
func (c *column) loadLevels(r rows, levels []int16) {
	for i := range levels {
		level := r.data[r.at(i)+c.levelPlace]
		switch {
		case c.levelMask == 0:
			levels[i] = int16(level)
		case level&c.levelMask != 0:
			levels[i] = 1
		default:
			levels[i] = 0
		}
	}
}

// withoutNulls moves the values that are not null to the beginning.
func (e *typedEncoder[T]) withoutNulls(values []T, levels []int16) []T {
	kept := 0
	for i, level := range levels {
		if level == e.column.maxLevel {
			values[kept] = values[i]
			kept++
		}
	}
	return values[:kept]
}

func loadBools(e *typedEncoder[bool], r rows, values []bool) {
	for i := range values {
		values[i] = r.data[r.at(i)+e.column.offset] != 0
	}
}

func loadValues[T word](e *typedEncoder[T], r rows, values []T) {
	loadWords(r, e.column.offset, values)
}

func loadInt96s(e *typedEncoder[parquet.Int96], r rows, values []parquet.Int96) {
	for i := range values {
		copy(values[i][:], r.data[r.at(i)+e.column.offset:])
	}
}

// loadBytes lets the values share the memory of the records, whose sign bits it restores.
func loadBytes(e *typedEncoder[parquet.FixedLenByteArray], r rows, values []parquet.FixedLenByteArray) {
	c := e.column
	for i := range values {
		at := r.at(i) + c.offset
		value := r.data[at : at+c.width : at+c.width]
		if c.flip { // also in nulls, which are not written
			value[0] ^= 0x80
		}
		values[i] = value
	}
}

// loadVariable lets the values share the memory of the rows, except for those in two pieces.
func loadVariable(e *typedEncoder[parquet.ByteArray], r rows, values []parquet.ByteArray) {
	e.scratch = e.scratch[:0]
	for i := range values {
		values[i], e.scratch = e.place.value(r.data[r.at(i):], e.scratch)
	}
}
