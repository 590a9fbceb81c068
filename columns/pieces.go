package columns

import (
	"encoding/binary"
	"errors"
)

// A row with columns of variable width becomes one or more records of the same size, its pieces. All
// of them begin with the keys of the row, so that a stable sort leaves them together and in order:
//
//	┌──────┬───┬──────────────┬─────────┬────────┬──────────────────────┐
//	│ keys │ 0 │ other values │ lengths │ levels │ values of any length │  first piece
//	├──────┼───┼──────────────┴─────────┴────────┴──────────────────────┤
//	│ keys │ 1 │ values of any length, continued                        │  more pieces
//	└──────┴───┴────────────────────────────────────────────────────────┘
//
// A key of variable width has a slot among the keys: the first bytes of the value, then zeros, and a
// byte with its length. The byte of a value that is longer than the slot is one more than the number
// of bytes in the slot; the rest of the value is stored like those of other columns.

// pieceMark is the size of the byte after the keys. It is 0 in the first piece of a row.
const pieceMark = 1

// payloadOf returns how many bytes of a value are stored outside of its slot.
func (c *column) payloadOf(length int) int { return max(0, length-c.prefix) }

// lengthIn returns the length of the value of variable width in a row.
func (c *column) lengthIn(row []byte) int {
	return int(binary.LittleEndian.Uint32(row[c.lengthPlace:]))
}

// payloadIn returns the number of bytes of variable width in a row.
func (l *layout) payloadIn(row []byte) (total int) {
	for _, c := range l.variable {
		total += c.payloadOf(c.lengthIn(row))
	}
	return total
}

// pieces returns the number of records of a row.
func (l *layout) pieces(payload int) int {
	more := payload - (l.recordSize - l.headBytes)
	if more <= 0 {
		return 1
	}
	each := l.recordSize - l.keyBytes - pieceMark
	return 1 + (more+each-1)/each
}

// A pieceWriter writes the values of variable width of a row, whose other values are set.
type pieceWriter struct {
	layout *layout
	row    []byte // from the first piece on
	at     int
	end    int // of the current piece
}

func (l *layout) pieceWriter(row []byte) pieceWriter {
	return pieceWriter{layout: l, row: row, at: l.headBytes, end: l.recordSize}
}

func (w *pieceWriter) write(value []byte) {
	for {
		n := copy(w.row[w.at:w.end], value)
		w.at += n
		value = value[n:]
		if len(value) == 0 {
			return
		}
		keyBytes := w.layout.keyBytes
		copy(w.row[w.end:], w.row[:keyBytes])
		w.row[w.end+keyBytes] = 1
		w.at = w.end + keyBytes + pieceMark
		w.end += w.layout.recordSize
	}
}

// placeSlot stores the beginning and the length of a value in a row whose bytes are zero.
func (c *column) placeSlot(row, value []byte) {
	binary.LittleEndian.PutUint32(row[c.lengthPlace:], uint32(len(value)))
	if c.isKey {
		n := copy(row[c.offset:c.offset+c.prefix], value)
		row[c.offset+c.prefix] = byte(min(len(value), n+1))
	}
}

// isTruncated reports whether the slot of a key does not hold the whole value of a row.
func (c *column) isTruncated(row []byte) bool {
	return c.isVariable && int(row[c.offset+c.prefix]) > c.prefix
}

// A valuePlace finds the values of a column of variable width in rows.
type valuePlace struct {
	column    *column
	before    []*column // columns whose values are stored before
	headBytes int
}

func (l *layout) placeOf(c *column) valuePlace {
	p := valuePlace{column: c, headBytes: l.headBytes}
	for _, other := range l.variable {
		if other == c {
			break
		}
		p.before = append(p.before, other)
	}
	return p
}

// value returns the value in a row. It appends a value in two places to scratch.
func (p *valuePlace) value(row, scratch []byte) (value, rest []byte) {
	c := p.column
	length := c.lengthIn(row)
	if length <= c.prefix {
		return row[c.offset : c.offset+length], scratch
	}
	tail := p.tail(row)
	if c.prefix == 0 {
		return tail, scratch
	}
	start := len(scratch)
	scratch = append(scratch, row[c.offset:c.offset+c.prefix]...)
	scratch = append(scratch, tail...)
	return scratch[start:], scratch
}

// tail returns the part of a value that is not in its slot.
func (p *valuePlace) tail(row []byte) []byte {
	at := p.headBytes
	for _, c := range p.before {
		at += c.payloadOf(c.lengthIn(row))
	}
	return row[at : at+p.column.payloadOf(p.column.lengthIn(row))]
}

// An assembler joins the pieces of rows. It implements io.Writer.
type assembler struct {
	layout *layout
	next   func(row []byte) error // receives each row, which is valid during the call
	record []byte                 // the beginning of a record
	row    []byte                 // the beginning of a row
	need   int                    // bytes that the row lacks
}

var errPieces = errors.New("the pieces of a row are not together")

// Write adds records. It may receive parts of records.
func (a *assembler) Write(p []byte) (n int, err error) {
	n = len(p)
	size := a.layout.recordSize
	if len(a.record) > 0 {
		take := min(size-len(a.record), len(p))
		a.record = append(a.record, p[:take]...)
		p = p[take:]
		if len(a.record) < size {
			return n, nil
		}
		if err := a.add(a.record); err != nil {
			return 0, err
		}
		a.record = a.record[:0]
	}
	for len(p) >= size {
		if err := a.add(p[:size]); err != nil {
			return 0, err
		}
		p = p[size:]
	}
	a.record = append(a.record, p...)
	return n, nil
}

// add adds a record.
func (a *assembler) add(record []byte) error {
	l := a.layout
	isFirst := record[l.keyBytes] == 0
	if isFirst != (a.need == 0) {
		return errPieces
	}
	if !isFirst {
		part := record[l.keyBytes+pieceMark:]
		part = part[:min(len(part), a.need)]
		a.row = append(a.row, part...)
		a.need -= len(part)
		if a.need == 0 {
			return a.next(a.row)
		}
		return nil
	}
	payload := l.payloadIn(record)
	if l.headBytes+payload <= l.recordSize {
		return a.next(record[:l.headBytes+payload])
	}
	a.row = append(a.row[:0], record...)
	a.need = payload - (l.recordSize - l.headBytes)
	return nil
}

// close checks that no row is incomplete.
func (a *assembler) close() error {
	if a.need > 0 || len(a.record) > 0 {
		return errPieces
	}
	return nil
}
