package columns

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// An encoder writes one column of records to a column chunk.
type encoder interface {
	encode(records []byte) error
}

// A chunkWriter is a writer of arrow-go for one physical type.
type chunkWriter[T any] interface {
	WriteBatch(values []T, defLevels, repLevels []int16) (valueOffset int64, err error)
}

// typedEncoder encodes columns of one physical type.
type typedEncoder[T any] struct {
	column     *column
	recordSize int
	writer     chunkWriter[T]
	values     []T
	levels     []int16 // nil: the column has no nulls
	load       func(e *typedEncoder[T], records []byte, values []T)
}

// encodeRows is the number of rows that an encoder converts at once.
const encodeRows = 4096

func newEncoder(c *column, recordSize int, writer file.ColumnChunkWriter) (encoder, error) {
	switch w := writer.(type) {
	case *file.BooleanColumnChunkWriter:
		return typedFor(c, recordSize, w, loadBools), nil
	case *file.Int32ColumnChunkWriter:
		return typedFor(c, recordSize, w, loadValues[int32]), nil
	case *file.Int64ColumnChunkWriter:
		return typedFor(c, recordSize, w, loadValues[int64]), nil
	case *file.Float32ColumnChunkWriter:
		return typedFor(c, recordSize, w, loadValues[float32]), nil
	case *file.Float64ColumnChunkWriter:
		return typedFor(c, recordSize, w, loadValues[float64]), nil
	case *file.Int96ColumnChunkWriter:
		return typedFor(c, recordSize, w, loadInt96s), nil
	case *file.FixedLenByteArrayColumnChunkWriter:
		return typedFor(c, recordSize, w, loadBytes), nil
	}
	return nil, fmt.Errorf("column %s: unexpected writer %T", c.leaf.Path(), writer)
}

func typedFor[T any](c *column, recordSize int, w chunkWriter[T],
	load func(*typedEncoder[T], []byte, []T)) encoder {
	e := &typedEncoder[T]{column: c, recordSize: recordSize, writer: w, values: make([]T, encodeRows), load: load}
	if c.maxLevel > 0 {
		e.levels = make([]int16, encodeRows)
	}
	return e
}

func (e *typedEncoder[T]) encode(records []byte) error {
	for len(records) > 0 {
		n := min(encodeRows, len(records)/e.recordSize)
		part := records[:n*e.recordSize]
		records = records[n*e.recordSize:]

		values := e.values[:n]
		e.load(e, part, values)
		var levels []int16
		if e.levels != nil {
			levels = e.levels[:n]
			e.column.loadLevels(part, e.recordSize, levels)
			values = e.withoutNulls(values, levels)
		}
		if _, err := e.writer.WriteBatch(values, levels, nil); err != nil {
			return fmt.Errorf("column %s: %w", e.column.leaf.Path(), err)
		}
	}
	return nil
}

// loadLevels reads the definition levels that placeLevels stored.
func (c *column) loadLevels(records []byte, recordSize int, levels []int16) {
	at := c.levelPlace
	for i := range levels {
		levels[i] = int16(records[at])
		if c.levelMask != 0 {
			levels[i] = 0
			if records[at]&c.levelMask != 0 {
				levels[i] = 1
			}
		}
		at += recordSize
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

func loadBools(e *typedEncoder[bool], records []byte, values []bool) {
	at := e.column.offset
	for i := range values {
		values[i] = records[at] != 0
		at += e.recordSize
	}
}

func loadValues[T word](e *typedEncoder[T], records []byte, values []T) {
	loadWords(records, e.recordSize, e.column.offset, values)
}

func loadInt96s(e *typedEncoder[parquet.Int96], records []byte, values []parquet.Int96) {
	at := e.column.offset
	for i := range values {
		copy(values[i][:], records[at:])
		at += e.recordSize
	}
}

// loadBytes lets the values share the memory of the records, whose sign bits it restores.
func loadBytes(e *typedEncoder[parquet.FixedLenByteArray], records []byte, values []parquet.FixedLenByteArray) {
	c := e.column
	at := c.offset
	for i := range values {
		value := records[at : at+c.width : at+c.width]
		if c.flip { // also in nulls, which are not written
			value[0] ^= 0x80
		}
		values[i] = value
		at += e.recordSize
	}
}
