package columns

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// A decoder reads the values of one column chunk into records.
type decoder interface {
	// decode sets the column in all records of the block.
	decode(records []byte, recordSize int) error
}

// A chunkReader is a reader of arrow-go for one physical type.
type chunkReader[T any] interface {
	ReadBatch(n int64, values []T, defLevels, repLevels []int16) (total int64, read int, err error)
}

// typedDecoder decodes columns of one physical type.
type typedDecoder[T any] struct {
	column *column
	layout *layout
	reader chunkReader[T]
	values []T
	levels []int16 // nil: the column has no nulls
	place  func(d *typedDecoder[T], records []byte, recordSize int) error
	floats *floatFacts
}

// newDecoder returns a decoder for blocks of at most maxRows rows.
func newDecoder(c *column, l *layout, reader file.ColumnChunkReader, maxRows int, facts *floatFacts) (decoder, error) {
	switch r := reader.(type) {
	case *file.BooleanColumnChunkReader:
		return typed(c, l, r, maxRows, facts, placeBools), nil
	case *file.Int32ColumnChunkReader:
		return typed(c, l, r, maxRows, facts, placeWords[int32]), nil
	case *file.Int64ColumnChunkReader:
		return typed(c, l, r, maxRows, facts, placeWords[int64]), nil
	case *file.Float32ColumnChunkReader:
		return typed(c, l, r, maxRows, facts, placeFloat32s), nil
	case *file.Float64ColumnChunkReader:
		return typed(c, l, r, maxRows, facts, placeFloat64s), nil
	case *file.Int96ColumnChunkReader:
		return typed(c, l, r, maxRows, facts, placeInt96s), nil
	case *file.FixedLenByteArrayColumnChunkReader:
		return typed(c, l, r, maxRows, facts, placeBytes), nil
	}
	return nil, fmt.Errorf("column %s: unexpected reader %T", c.leaf.Path(), reader)
}

func typed[T any](c *column, l *layout, r chunkReader[T], maxRows int, facts *floatFacts,
	place func(*typedDecoder[T], []byte, int) error) decoder {
	d := &typedDecoder[T]{column: c, layout: l, reader: r, values: make([]T, maxRows), place: place, floats: facts}
	if c.maxLevel > 0 {
		d.levels = make([]int16, maxRows)
	}
	return d
}

func (d *typedDecoder[T]) decode(records []byte, recordSize int) error {
	rows := len(records) / recordSize
	read, err := d.readValues(rows)
	if err != nil {
		return err
	}
	if d.levels != nil {
		if err := d.spread(read, rows); err != nil {
			return err
		}
		d.column.placeLevels(records, recordSize, d.levels[:rows], d.layout.nullOrder)
	} else if read != rows {
		return fmt.Errorf("column %s has %d values in %d rows", d.column.leaf.Path(), read, rows)
	}
	return d.place(d, records, recordSize)
}

// readValues reads the values of the rows. It returns the number of values that are not null.
func (d *typedDecoder[T]) readValues(rows int) (values int, err error) {
	for done := 0; done < rows; {
		var levels []int16
		if d.levels != nil {
			levels = d.levels[done:rows]
		}
		total, read, err := d.reader.ReadBatch(int64(rows-done), d.values[values:rows], levels, nil)
		if err != nil {
			return 0, fmt.Errorf("column %s: %w", d.column.leaf.Path(), err)
		}
		if total <= 0 || total > int64(rows-done) || read < 0 || read > rows-values {
			return 0, fmt.Errorf("column %s ends %d rows early", d.column.leaf.Path(), rows-done)
		}
		done += int(total)
		values += read
	}
	return values, nil
}

// spread moves the values, which are stored without gaps, to their rows. Nulls become zero values.
func (d *typedDecoder[T]) spread(values, rows int) error {
	var zero T
	for row := rows - 1; row >= 0; row-- {
		level := d.levels[row]
		switch {
		case level == d.column.maxLevel && values > 0:
			values--
			d.values[row] = d.values[values]
		case level < 0 || level >= d.column.maxLevel:
			return fmt.Errorf("column %s has a wrong definition level or too few values", d.column.leaf.Path())
		default:
			d.values[row] = zero
		}
	}
	if values != 0 {
		return fmt.Errorf("column %s has %d values too many", d.column.leaf.Path(), values)
	}
	return nil
}

// placeLevels stores the definition levels in records whose level bits are zero.
func (c *column) placeLevels(records []byte, recordSize int, levels []int16, nullOrder byte) {
	at := c.levelPlace
	for _, level := range levels {
		if c.levelMask == 0 {
			records[at] = byte(level)
		} else if level != 0 {
			records[at] |= c.levelMask
		}
		at += recordSize
	}
	if !c.isNullableKey {
		return
	}
	at = c.orderPlace
	for _, level := range levels {
		records[at] = nullOrder
		if level == c.maxLevel {
			records[at] = orderValue
		}
		at += recordSize
	}
}

func placeBools(d *typedDecoder[bool], records []byte, recordSize int) error {
	at := d.column.offset
	for _, value := range d.values[:len(records)/recordSize] {
		records[at] = 0
		if value {
			records[at] = 1
		}
		at += recordSize
	}
	return nil
}

// word is a value of 4 or 8 bytes.
type word interface {
	int32 | int64 | float32 | float64
}

// placeWords stores values of 4 or 8 bytes as little-endian words.
func placeWords[T word](d *typedDecoder[T], records []byte, recordSize int) error {
	storeWords(records, recordSize, d.column.offset, d.values[:len(records)/recordSize])
	return nil
}

func storeWords[T word](records []byte, recordSize, at int, values []T) {
	if unsafe.Sizeof(values[0]) == 4 {
		for _, bits := range wordsOf[uint32](values) {
			binary.LittleEndian.PutUint32(records[at:], bits)
			at += recordSize
		}
		return
	}
	for _, bits := range wordsOf[uint64](values) {
		binary.LittleEndian.PutUint64(records[at:], bits)
		at += recordSize
	}
}

func loadWords[T word](records []byte, recordSize, at int, values []T) {
	if unsafe.Sizeof(values[0]) == 4 {
		words := wordsOf[uint32](values)
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(records[at:])
			at += recordSize
		}
		return
	}
	words := wordsOf[uint64](values)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(records[at:])
		at += recordSize
	}
}

// wordsOf returns the values as unsigned words of the same size.
func wordsOf[W uint32 | uint64, T word](values []T) []W {
	return unsafe.Slice((*W)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// placeFloat32s is placeWords with a look at the values; see floatFacts.
func placeFloat32s(d *typedDecoder[float32], records []byte, recordSize int) error {
	for _, value := range d.values[:len(records)/recordSize] {
		if value != value || math.Float32bits(value) == 1<<31 {
			d.floats.found(d.column)
			break
		}
	}
	return placeWords(d, records, recordSize)
}

// placeFloat64s is placeFloat32s for 8 bytes.
func placeFloat64s(d *typedDecoder[float64], records []byte, recordSize int) error {
	for _, value := range d.values[:len(records)/recordSize] {
		if value != value || math.Float64bits(value) == 1<<63 {
			d.floats.found(d.column)
			break
		}
	}
	return placeWords(d, records, recordSize)
}

func placeInt96s(d *typedDecoder[parquet.Int96], records []byte, recordSize int) error {
	at := d.column.offset
	for i := range d.values[:len(records)/recordSize] {
		copy(records[at:], d.values[i][:])
		at += recordSize
	}
	return nil
}

func placeBytes(d *typedDecoder[parquet.FixedLenByteArray], records []byte, recordSize int) error {
	c := d.column
	at := c.offset
	for _, value := range d.values[:len(records)/recordSize] {
		into := records[at : at+c.width]
		switch {
		case value == nil:
			clear(into)
		case len(value) != c.width:
			return fmt.Errorf("column %s has a value of %d bytes instead of %d", c.leaf.Path(), len(value), c.width)
		default:
			copy(into, value)
			if c.flip {
				into[0] ^= 0x80
			}
		}
		at += recordSize
	}
	return nil
}
