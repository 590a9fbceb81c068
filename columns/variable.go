package columns

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// A variableDecoder reads the values of a column of variable width. Values stay where the library
// decoded them until the rows have been placed.
type variableDecoder struct {
	column *column
	read   func(values []parquet.ByteArray, levels []int16) (rows int, err error) // reads some of the next rows
	values []parquet.ByteArray                                                    // nulls have no bytes
	levels []int16                                                                // nil: the column has no nulls
	first  int                                                                    // the next row
	rows   int
}

func newVariableDecoder(c *column, reader *file.ByteArrayColumnChunkReader, maxRows int) *variableDecoder {
	d := &variableDecoder{column: c, values: make([]parquet.ByteArray, maxRows)}
	if c.isNullable() {
		d.levels = make([]int16, maxRows)
	}
	d.read = func(values []parquet.ByteArray, levels []int16) (int, error) {
		total, read, err := reader.ReadBatchInPage(int64(len(values)), values, levels, nil)
		switch {
		case err != nil:
			return 0, fmt.Errorf("column %s: %w", c.name, err)
		case total <= 0 || total > int64(len(values)) || read < 0 || int64(read) > total:
			return 0, fmt.Errorf("column %s ends early", c.name)
		case levels != nil:
			return int(total), spread(c, values, levels[:total], read, nil)
		case int64(read) != total:
			return 0, c.missing(read, int(total))
		}
		return int(total), nil
	}
	return d
}

// prepare returns how many of the next n rows are decoded: at least one.
func (d *variableDecoder) prepare(n int) (int, error) {
	if d.rows == 0 {
		rows, err := d.read(d.values[:min(n, len(d.values))], d.levels[:min(n, len(d.levels))])
		if err != nil {
			return 0, err
		}
		d.first = 0
		d.rows = rows
	}
	return min(n, d.rows), nil
}

// value returns the value of a prepared row.
func (d *variableDecoder) value(row int) []byte { return d.values[d.first+row] }

// skip goes on to later rows.
func (d *variableDecoder) skip(n int) {
	d.first += n
	d.rows -= n
}

// A rowDecoder decodes the rows of a row group into records.
type rowDecoder struct {
	layout   *layout
	fixed    []decoder
	variable []*variableDecoder // in the order of the layout
	left     int64              // rows
	maxRows  int                // the most rows that the decoders read at once
	starts   []int
	release  func() // nil: nothing to release
}

func (d *rowDecoder) close() {
	if d.release != nil {
		d.release()
	}
}

// fill decodes the next rows into a block, as many as it holds. It returns the records: those of a
// single large row are in a block of their own.
func (d *rowDecoder) fill(block []byte) (records []byte, err error) {
	used := 0
	for d.left > 0 {
		rows, size, err := d.nextRows(len(block) - used)
		if err != nil {
			return nil, err
		}
		if size > len(block)-used {
			if used > 0 {
				break
			}
			block = make([]byte, size)
		}
		part := block[used : used+size]
		clear(part)
		if err := d.place(part, rows); err != nil {
			return nil, err
		}
		used += size
		d.left -= int64(rows)
		if len(d.variable) == 0 {
			break
		}
	}
	return block[:used], nil
}

// nextRows returns how many rows to decode next, and the size of their records: at least one row,
// and no more than fit into free bytes if it is more than one.
func (d *rowDecoder) nextRows(free int) (rows, size int, err error) {
	l := d.layout
	rows = int(min(d.left, int64(d.maxRows)))
	if len(d.variable) == 0 {
		rows = min(rows, free/l.recordSize)
		return rows, rows * l.recordSize, nil
	}
	for _, v := range d.variable {
		if rows, err = v.prepare(rows); err != nil {
			return 0, 0, err
		}
	}
	d.starts = d.starts[:0]
	for row := range rows {
		payload := 0
		for _, v := range d.variable {
			length := len(v.value(row))
			if length > math.MaxInt32 {
				return 0, 0, fmt.Errorf("column %s has a value of %d bytes, more than 2 GiB", v.column.name, length)
			}
			payload += v.column.payloadOf(length)
		}
		more := l.pieces(payload) * l.recordSize
		if row > 0 && size+more > free {
			return row, size, nil
		}
		d.starts = append(d.starts, size)
		size += more
	}
	return rows, size, nil
}

// place decodes rows into records whose bytes are zero.
func (d *rowDecoder) place(records []byte, count int) error {
	l := d.layout
	r := rows{data: records, count: count, size: l.recordSize}
	if len(d.variable) > 0 {
		r.starts = d.starts
	}
	for _, f := range d.fixed {
		if err := f.decode(r); err != nil {
			return err
		}
	}
	l.markValues(r)
	if len(d.variable) == 0 {
		return nil
	}
	for _, v := range d.variable {
		for row := range count {
			v.column.placeSlot(records[r.at(row):], v.value(row))
		}
		if v.levels != nil {
			v.column.placeLevels(r, v.levels[v.first:], l.nullOrder)
		}
	}
	for row := range count {
		w := l.pieceWriter(records[r.at(row):])
		for _, v := range d.variable {
			value := v.value(row)
			w.write(value[min(len(value), v.column.prefix):])
		}
	}
	for _, v := range d.variable {
		v.skip(count)
	}
	return nil
}
