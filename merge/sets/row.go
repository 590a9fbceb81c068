package sets

import (
	"fmt"
	"slices"
	"strings"

	"github.com/extsort/extsort/format"
)

// RowOptions describes which fields the rows of a join have.
type RowOptions struct {
	// Columns lists fields in their order: a.NAME or b.NAME for a named field, a.OFFSET:TYPE for
	// other bytes, a or b for a whole record. Without Columns, a row consists of the record of A and
	// of the bytes of B that are not part of the key.
	Columns []string

	// Fill returns the value of a typed field if its side has no record. nil means zero bytes.
	// Unnamed bytes are always zero.
	Fill func(format.Column) ([]byte, error)

	// Presence appends a byte: 1 if only A has a record, 2 if only B has one, 3 if both have one.
	Presence bool
}

// NewRow returns the Row for records with the headers a and b. If one of the records is missing,
// the key fields of the row have the values of the other record.
func NewRow(a, b *format.Header, opt RowOptions) (Row, error) {
	builder := rowBuilder{opt: opt}
	builder.sides[0] = newSide("a", a)
	builder.sides[1] = newSide("b", b)
	pieces, err := builder.pieces()
	if err != nil {
		return Row{}, err
	}

	row := &builder.row
	for _, p := range pieces {
		if err := builder.add(p); err != nil {
			return Row{}, err
		}
	}
	row.Both.Rest = nil // copies set all bytes
	if opt.Presence {
		row.Both.Rest = make([]byte, row.Size)
		row.Size++
		row.OnlyA.append([]byte{1})
		row.OnlyB.append([]byte{2})
		row.Both.append([]byte{3})
	}
	switch {
	case row.Size == 0:
		return Row{}, fmt.Errorf("the rows of the join have no bytes")
	case row.Size > format.MaxRecordSize:
		return Row{}, fmt.Errorf(
			"the rows of the join have %d bytes, more than the maximum of %d", row.Size, format.MaxRecordSize)
	}
	return *row, nil
}

// append adds bytes to the rest of a shape.
func (s *Shape) append(rest []byte) { s.Rest = append(s.Rest, rest...) }

// copyTo adds a copy. If c starts where the last copy ends, it extends the last copy.
func (s *Shape) copyTo(c Copy) {
	if n := len(s.Copies); n > 0 {
		last := &s.Copies[n-1]
		isNext := last.From+last.Size == c.From && last.To+last.Size == c.To
		if isNext && last.FromB == c.FromB && last.Word == 0 && c.Word == 0 {
			last.Size += c.Size
			return
		}
	}
	s.Copies = append(s.Copies, c)
}

// A side is A or B.
type side struct {
	name    string
	size    int // record size in bytes
	columns []format.Column
	keys    []format.Field
}

func newSide(name string, h *format.Header) *side {
	l := h.Layout()
	return &side{
		name:    name,
		size:    l.RecordSize,
		columns: h.Columns(),
		keys:    l.Key,
	}
}

// A piece is a part of a row: a column of a side.
type piece struct {
	side   int // 0: A; 1: B
	column format.Column
}

// A rowBuilder builds a Row, piece by piece.
type rowBuilder struct {
	opt   RowOptions
	sides [2]*side
	row   Row
}

// pieces returns the pieces of a row.
func (r *rowBuilder) pieces() (all []piece, err error) {
	if len(r.opt.Columns) == 0 {
		for _, c := range r.sides[0].disjoint(nil) {
			all = append(all, piece{0, c})
		}
		for _, c := range r.sides[1].disjoint(r.sides[1].keys) {
			all = append(all, piece{1, c})
		}
		return all, nil
	}
	for _, name := range r.opt.Columns {
		columns, of, err := r.find(name)
		if err != nil {
			return nil, err
		}
		for _, c := range columns {
			all = append(all, piece{of, c})
		}
	}
	return all, nil
}

// find returns the columns that a name of RowOptions.Columns denotes.
func (r *rowBuilder) find(name string) (columns []format.Column, of int, err error) {
	sideName, field, _ := strings.Cut(name, ".")
	of = slices.Index([]string{"a", "b"}, sideName)
	if of < 0 {
		return nil, 0, fmt.Errorf("column %q: want a.NAME or b.NAME, a.OFFSET:TYPE, a or b", name)
	}
	s := r.sides[of]
	if field == "" {
		return s.disjoint(nil), of, nil
	}
	for _, c := range s.columns {
		if c.Name == field {
			return []format.Column{c}, of, nil
		}
	}
	if !strings.Contains(field, ":") {
		var names []string
		for _, c := range s.columns {
			names = append(names, c.Name)
		}
		return nil, 0, fmt.Errorf("column %q: no such field; %s has %s", name, s.name, strings.Join(names, ", "))
	}

	parsed, err := format.ParseField(field)
	if err != nil {
		return nil, 0, fmt.Errorf("column %q: %w", name, err)
	}
	c := format.Column{Name: field, Offset: parsed.Offset, Type: parsed.Type}
	if end := c.Offset + c.Type.Size; end > s.size {
		return nil, 0, fmt.Errorf("column %q ends at byte %d, but a record of %s has %d", name, end, s.name, s.size)
	}
	return []format.Column{c}, of, nil
}

// disjoint returns columns that cover each byte of a record once, except the bytes of some fields.
func (s *side) disjoint(except []format.Field) (all []format.Column) {
	done := make([]bool, s.size)
	for _, f := range except {
		for i := range f.Type.Size {
			done[f.Offset+i] = true
		}
	}
	for _, c := range s.columns {
		covered := done[c.Offset : c.Offset+c.Type.Size]
		if !slices.Contains(covered, true) {
			all = append(all, c)
		} else {
			all = append(all, uncovered(c.Offset, covered)...)
		}
		for i := range covered {
			covered[i] = true
		}
	}
	return all
}

// uncovered returns untyped columns of the bytes that are not covered yet.
func uncovered(offset int, covered []bool) (all []format.Column) {
	for i := 0; i < len(covered); i++ {
		from := i
		for i < len(covered) && !covered[i] {
			i++
		}
		if i > from {
			all = append(all, untyped(offset+from, i-from))
		}
	}
	return all
}

// untyped returns a column of bytes without a name.
func untyped(offset, size int) format.Column {
	return format.Column{Offset: offset, Type: format.Type{Kind: format.Bytes, Size: size}}
}

// add adds a piece to the row.
func (r *rowBuilder) add(p piece) error {
	c := p.column
	fromB := p.side == 1
	value := make([]byte, c.Type.Size)
	if fill := r.opt.Fill; fill != nil && !isGap(c) && !r.sides[p.side].isKey(c) {
		filled, err := fill(c)
		if err != nil {
			return err
		}
		copy(value, filled)
	}
	zeros := make([]byte, c.Type.Size)
	at := r.row.Size
	own := Copy{FromB: fromB, From: c.Offset, To: at, Size: c.Type.Size}
	with, without := &r.row.OnlyA, &r.row.OnlyB
	if fromB {
		with, without = without, with
	}
	r.row.Both.append(zeros)
	r.row.Both.copyTo(own)
	with.append(zeros)
	with.copyTo(own)
	without.append(value)

	r.row.Size += c.Type.Size
	r.addKeys(p, without, at)
	return nil
}

// isGap reports whether a column consists of bytes that no field contains.
func isGap(c format.Column) bool {
	name := strings.TrimRight(c.Name, "_") // a field may have the name of a gap
	return name == "" || c.Type.Kind == format.Bytes && name == fmt.Sprintf("byte%d", c.Offset)
}

// isKey reports whether a column is a key field. It needs no fill.
func (s *side) isKey(c format.Column) bool {
	return slices.ContainsFunc(s.keys, func(f format.Field) bool { return f.Offset == c.Offset && f.Type == c.Type })
}

// addKeys fills the bytes of key fields in a piece from the record of the other side. at is the position of the piece
// in the row. If key fields overlap, their common bytes get the value of the later one.
func (r *rowBuilder) addKeys(p piece, to *Shape, at int) {
	others := r.sides[1-p.side].keys
	for i, key := range r.sides[p.side].keys {
		from := max(p.column.Offset, key.Offset)
		end := min(p.column.Offset+p.column.Type.Size, key.Offset+key.Type.Size)
		if from >= end {
			continue
		}
		word := 0
		if key.Type.BigEndian != others[i].Type.BigEndian {
			word = wordBytes(key.Type)
		}
		for _, c := range keyCopies(from-key.Offset, end-key.Offset, word) {
			c.FromB = p.side == 0
			c.From += others[i].Offset
			c.To += at + key.Offset - p.column.Offset
			to.copyTo(c)
		}
	}
}

// keyCopies returns copies of the bytes [from, end) of a key field. If word is not 0, the other record has the bytes of
// each word in the opposite order, so that the beginning of a word is at its end there:
//
//	here     0 1 2 3   [1, 3)
//	there    3 2 1 0   [1, 3), reversed
func keyCopies(from, end, word int) (all []Copy) {
	if word == 0 {
		return []Copy{{From: from, To: from, Size: end - from}}
	}
	for from < end {
		start := from / word * word
		next := min(start+word, end)
		size := next - from
		all = append(all, Copy{From: start + word - (next - start), To: from, Size: size, Word: size})
		from = next
	}
	return all
}

// wordBytes returns the size of the words to which the byte order of a type applies.
func wordBytes(t format.Type) int {
	const character = 4
	if t.Kind == format.UCS {
		return character
	}
	return t.Size
}
