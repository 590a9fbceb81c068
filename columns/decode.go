package columns

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// A decoder reads the values of one column of fixed width into records.
type decoder interface {
	// decode sets the column in the next rows, whose bytes are zero.
	decode(r rows) error
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
	null   T
	levels []int16 // nil: the column has no nulls
	place  func(d *typedDecoder[T], r rows) error
	floats *floatFacts
}

// newDecoder returns a decoder for blocks of at most maxRows rows.
func newDecoder(c *column, l *layout, reader file.ColumnChunkReader, maxRows int, facts *floatFacts) (decoder, error) {
	switch r := reader.(type) {
	case *file.BooleanColumnChunkReader:
		return typed(c, l, r, maxRows, facts, placeBools), nil
	case *file.Int32ColumnChunkReader:
		if c.isNarrow {
			return typed(c, l, r, maxRows, facts, placeNarrow[int32]).fill(int32(c.base)), nil
		}
		return typed(c, l, r, maxRows, facts, placeWords[int32]), nil
	case *file.Int64ColumnChunkReader:
		if c.isNarrow {
			return typed(c, l, r, maxRows, facts, placeNarrow[int64]).fill(c.base), nil
		}
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
	return nil, fmt.Errorf("column %s: unexpected reader %T", c.name, reader)
}

func typed[T any](c *column, l *layout, r chunkReader[T], maxRows int, facts *floatFacts,
	place func(*typedDecoder[T], rows) error) *typedDecoder[T] {
	d := &typedDecoder[T]{column: c, layout: l, reader: r, values: make([]T, maxRows), place: place, floats: facts}
	if c.isNullable() {
		d.levels = make([]int16, maxRows)
	}
	return d
}

// fill sets the value of nulls.
func (d *typedDecoder[T]) fill(null T) *typedDecoder[T] {
	d.null = null
	return d
}

func (d *typedDecoder[T]) decode(r rows) error {
	read, err := d.readValues(r.count)
	if err != nil {
		return err
	}
	if d.levels != nil {
		if err := spread(d.column, d.values, d.levels[:r.count], read, d.null); err != nil {
			return err
		}
		d.column.placeLevels(r, d.levels, d.layout.nullOrder)
	} else if read != r.count {
		return d.column.missing(read, r.count)
	}
	return d.place(d, r)
}

// missing returns the error of a column without levels that has fewer values than rows.
func (c *column) missing(values, rows int) error {
	if c.maxLevel > 0 {
		return errStatistics
	}
	return fmt.Errorf("column %s has %d values in %d rows", c.name, values, rows)
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
			return 0, fmt.Errorf("column %s: %w", d.column.name, err)
		}
		if total <= 0 || total > int64(rows-done) || read < 0 || read > rows-values {
			return 0, fmt.Errorf("column %s ends %d rows early", d.column.name, rows-done)
		}
		done += int(total)
		values += read
	}
	return values, nil
}

// spread moves the values, which are stored without gaps, to their rows, and sets those of nulls.
func spread[T any](c *column, values []T, levels []int16, count int, null T) error {
	for row := len(levels) - 1; row >= 0; row-- {
		level := levels[row]
		switch {
		case level == c.maxLevel && count > 0:
			count--
			values[row] = values[count]
		case level < 0 || level >= c.maxLevel:
			return fmt.Errorf("column %s has a wrong definition level or too few values", c.name)
		default:
			values[row] = null
		}
	}
	if count != 0 {
		return fmt.Errorf("column %s has %d values too many", c.name, count)
	}
	return nil
}

// placeLevels stores the definition levels in records whose level bits are zero.
func (c *column) placeLevels(r rows, levels []int16, nullOrder byte) {
	for i, level := range levels[:r.count] {
		at := r.at(i)
		if c.levelMask == 0 {
			r.data[at+c.levelPlace] = byte(level)
		} else if level != 0 {
			r.data[at+c.levelPlace] |= c.levelMask
		}
		if !c.isNullableKey {
			continue
		}
		if level == c.maxLevel {
			r.data[at+c.orderPlace] = orderValue
		} else {
			r.data[at+c.orderPlace] = nullOrder
		}
	}
}

func placeBools(d *typedDecoder[bool], r rows) error {
	for i, value := range d.values[:r.count] {
		if value {
			r.data[r.at(i)+d.column.offset] = 1
		}
	}
	return nil
}

// word is a value of 4 or 8 bytes.
type word interface {
	int32 | int64 | float32 | float64
}

// placeWords stores values of 4 or 8 bytes as little-endian words.
func placeWords[T word](d *typedDecoder[T], r rows) error {
	values := d.values[:r.count]
	if unsafe.Sizeof(d.values[0]) == 4 {
		for i, bits := range wordsOf[uint32](values) {
			binary.LittleEndian.PutUint32(r.data[r.at(i)+d.column.offset:], bits)
		}
		return nil
	}
	for i, bits := range wordsOf[uint64](values) {
		binary.LittleEndian.PutUint64(r.data[r.at(i)+d.column.offset:], bits)
	}
	return nil
}

func loadWords[T word](r rows, offset int, values []T) {
	if len(values) == 0 {
		return
	}
	if unsafe.Sizeof(values[0]) == 4 {
		words := wordsOf[uint32](values)
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(r.data[r.at(i)+offset:])
		}
		return
	}
	words := wordsOf[uint64](values)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(r.data[r.at(i)+offset:])
	}
}

// wordsOf returns the values as unsigned words of the same size.
func wordsOf[W uint32 | uint64, T word](values []T) []W {
	return unsafe.Slice((*W)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// placeFloat32s is placeWords with a look at the values; see floatFacts.
func placeFloat32s(d *typedDecoder[float32], r rows) error {
	for _, value := range d.values[:r.count] {
		if value != value || math.Float32bits(value) == 1<<31 {
			d.floats.found(d.column)
			break
		}
	}
	return placeWords(d, r)
}

// placeFloat64s is placeFloat32s for 8 bytes.
func placeFloat64s(d *typedDecoder[float64], r rows) error {
	for _, value := range d.values[:r.count] {
		if value != value || math.Float64bits(value) == 1<<63 {
			d.floats.found(d.column)
			break
		}
	}
	return placeWords(d, r)
}

func placeInt96s(d *typedDecoder[parquet.Int96], r rows) error {
	for i := range d.values[:r.count] {
		copy(r.data[r.at(i)+d.column.offset:], d.values[i][:])
	}
	return nil
}

func placeBytes(d *typedDecoder[parquet.FixedLenByteArray], r rows) error {
	c := d.column
	for i, value := range d.values[:r.count] {
		if value == nil {
			continue
		}
		if len(value) != c.width {
			return fmt.Errorf("column %s has a value of %d bytes instead of %d", c.name, len(value), c.width)
		}
		at := r.at(i) + c.offset
		copy(r.data[at:], value)
		if c.flip {
			r.data[at] ^= 0x80
		}
	}
	return nil
}
