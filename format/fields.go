package format

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/internal/option"
)

// A Column is a part of every record that has a name: a field, or the bytes between fields.
type Column struct {
	Name   string
	Offset int // in bytes from the start of the record
	Type   Type

	dtype     string // of a NumPy field, with its shape, in Python's notation
	unordered string // why the values of a NumPy field have no order; "" if they have one
}

// end returns the offset of the first byte after the column.
func (c Column) end() int { return c.Offset + c.Type.Size }

// hasNaT reports whether the least value of the column is NumPy's NaT.
func (c Column) hasNaT() bool { return c.Type.isTime() || c.isNumPy("m8") || c.isNumPy("M8") }

// isNumPy reports whether the column has a NumPy dtype of a kind, such as m8.
func (c Column) isNumPy(kind string) bool {
	return strings.HasPrefix(strings.TrimLeft(c.dtype, "'<>=|"), kind)
}

// fieldComment matches a comment in a description of fields.
var fieldComment = lazyRegexp(`(?m)#.*$`)

// fieldEquals matches an equals sign with the blanks around it.
var fieldEquals = lazyRegexp(`[ \t]*=[ \t]*`)

// ParseFields parses a description of the fields of a record: NAME=OFFSET:TYPE or NAME=TYPE,
// separated by blanks, commas or line breaks. A field without an offset follows the one before it.
// A comment begins with # and ends with the line. Types may have any name that NamedType accepts.
func ParseFields(text string) ([]Column, error) {
	text = fieldComment().ReplaceAllString(text, "")
	text = fieldEquals().ReplaceAllString(text, "=")
	separate := func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }
	var columns []Column
	next := 0
	for _, word := range strings.FieldsFunc(text, separate) {
		column, err := parseNamedField(word, next)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(columns, func(c Column) bool { return c.Name == column.Name }) {
			return nil, fmt.Errorf("field %q is described twice", column.Name)
		}
		columns = append(columns, column)
		next = column.end()
	}
	if len(columns) == 0 {
		return nil, fmt.Errorf(
			"no fields: want NAME=OFFSET:TYPE, for example 'time=0:u64 value=8:f32'",
		)
	}
	return columns, nil
}

// parseNamedField parses one field. Without an offset, it begins at byte next.
func parseNamedField(word string, next int) (Column, error) {
	name, place, ok := strings.Cut(word, "=")
	if !ok || name == "" || place == "" {
		return Column{}, fmt.Errorf(
			"field %q: want NAME=OFFSET:TYPE, for example time=0:u64", word,
		)
	}
	if strings.ContainsAny(name, ":\"'") ||
		strings.IndexAny(name, "0123456789") == 0 {
		return Column{}, fmt.Errorf(
			"field %q: a name begins with a letter and contains no : or quote",
			name,
		)
	}

	offset := next
	typeName := place
	before, after, found := strings.Cut(place, ":")
	if found &&
		isDigits(before) {
		at, err := strconv.Atoi(before)
		if err != nil {
			return Column{}, fmt.Errorf(
				"field %q: offset %q is too large", name, before,
			)
		}
		offset = at
		typeName = after
	}
	t, ok := NamedType(countForm().ReplaceAllString(typeName, "$1$2"))
	switch {
	case strings.HasSuffix(typeName, ":desc") ||
		strings.HasSuffix(typeName, ":asc"):
		return Column{}, fmt.Errorf(
			"field %q: a direction belongs to a key: %v %[1]s:desc",
			name,
			option.Keys,
		)
	case !ok:
		if _, err := ParseType(typeName); err != nil {
			return Column{}, fmt.Errorf(
				"field %q: %w", name, err,
			)
		}
	case offset > MaxRecordSize-t.Size:
		return Column{}, fmt.Errorf(
			"field %q ends after byte %d, the maximum record size",
			name,
			MaxRecordSize,
		)
	}
	return Column{
		Name:   name,
		Offset: offset,
		Type:   t,
	}, nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// fieldsEnd returns the size of the smallest record that contains all columns.
func fieldsEnd(columns []Column) int {
	end := 0
	for _, c := range columns {
		end = max(end, c.end())
	}
	return end
}

// plainSize returns the size of plain records: RecordSize or, without it, that of Fields.
// REQUIRES: Type is not set
func plainSize(s *Spec) (int, error) {
	if s.Fields == "" {
		return s.RecordSize, nil
	}
	columns, err := ParseFields(s.Fields)
	if err != nil {
		return 0, option.Errorf(option.Fields, ": %v", err)
	}
	end := fieldsEnd(columns)
	if s.RecordSize == 0 {
		return end, nil
	}
	if s.RecordSize < end {
		last := slices.MaxFunc(columns, func(a, b Column) int {
			return cmp.Compare(a.end(), b.end())
		})
		return 0, option.Errorf(option.RecordSize, " %d: the field %s ends at byte %d: leave %v out, or make it larger",
			s.RecordSize, last.Name, end, option.RecordSize)
	}
	return s.RecordSize, nil
}

// fieldKey parses NAME[:desc] or OFFSET:TYPE[:desc] for records with described fields.
func fieldKey(s *Spec, key string) (Field, error) {
	if s.Fields == "" || key != "" && isDigits(key[:1]) {
		return ParseField(key)
	}
	columns, err := ParseFields(s.Fields)
	if err != nil {
		return Field{}, err
	}
	name, direction, _ := strings.Cut(key, ":")
	if direction != "" && direction != "desc" && direction != "asc" {
		return Field{}, fmt.Errorf(
			"key %q: only :desc (or :asc, the default) may follow the name",
			key,
		)
	}
	for _, c := range columns {
		if c.Name == name {
			return Field{
				Offset: c.Offset,
				Type:   c.Type,
				Desc:   direction == "desc",
			}, nil
		}
	}
	names := joinNames(columns, func(c Column) string { return c.Name })
	if strings.Contains(key, ",") {
		return Field{}, fmt.Errorf(
			"key %q: give each field its own %v NAME; the fields are %s",
			key,
			option.Keys,
			names,
		)
	}
	return Field{}, fmt.Errorf(
		"key %q: no such field; the fields are %s", key, names,
	)
}

// Columns returns columns that cover all bytes of a record, in the order of their offsets. Bytes
// that no field contains are columns as well: their names are made of their offsets, as in
// byte12.
func (h *Header) Columns() []Column {
	named := slices.Clone(h.fields)
	if len(named) == 0 {
		named = h.layout.columns()
	}
	slices.SortStableFunc(named, func(a, b Column) int {
		return cmp.Compare(a.Offset, b.Offset)
	})

	var all []Column
	next := 0
	for _, c := range named {
		if c.Type.Size == 0 { // a field without a type gives its name to the bytes at its place
			continue
		}
		if c.Offset > next {
			all = append(all, gapColumn(named, next, c.Offset))
		}
		all = append(all, c)
		next = max(next, c.end())
	}
	if size := h.layout.RecordSize; next < size {
		all = append(all, gapColumn(named, next, size))
	}
	return all
}

// gapColumn returns the column of the bytes [from, to), which no field contains. Its name differs from
// those of all fields.
func gapColumn(named []Column, from, to int) Column {
	gap := Column{
		Name:   "byte" + strconv.Itoa(from),
		Offset: from,
		Type:   Type{Kind: Bytes, Size: to - from},
	}
	isTaken := func(c Column) bool { return c.Name == gap.Name && c.Offset != from }
	for slices.ContainsFunc(named, isTaken) {
		gap.Name += "_"
	}
	for _, c := range named {
		if c.Offset == from && c.Type.Size == 0 && c.Name != "" {
			gap.Name = c.Name
		}
	}
	return gap
}

// columns returns the columns of records without named fields: their keys.
func (l Layout) columns() (columns []Column) {
	if l.isOneValue() || len(l.Key) == 1 && l.Key[0].Type.Size == l.RecordSize {
		return []Column{{Name: "value", Type: l.Key[0].Type}}
	}
	for _, f := range l.Key {
		c := Column{
			Name:   "byte" + strconv.Itoa(f.Offset),
			Offset: f.Offset,
			Type:   f.Type,
		}
		overlaps := func(other Column) bool {
			return c.Offset < other.end() && other.Offset < c.end()
		}
		if !slices.ContainsFunc(columns, overlaps) {
			columns = append(columns, c)
		}
	}
	return columns
}

// columnsOf returns the fields of an array as columns. Fields that cannot be keys are bytes.
func (a *Array) columnsOf() []Column {
	if a.Columns > 0 {
		columns := make([]Column, a.Columns)
		size := (a.RecordSize - a.Fields[0].Offset) / a.Columns
		for i := range columns {
			columns[i] = a.Fields[0].column()
			columns[i].Name = strconv.Itoa(i)
			columns[i].Offset += i * size
		}
		return columns
	}

	var columns []Column
	for i := range a.Fields {
		columns = append(columns, a.Fields[i].column())
	}
	return columns
}

// column returns the field as a column, with the unit of a NumPy time.
func (f *ArrayField) column() Column {
	c := Column{
		Name:      cmp.Or(f.Name, "value"),
		Offset:    f.Offset,
		Type:      f.Type,
		dtype:     f.dtype,
		unordered: f.Why,
	}
	c.Type.Form = f.form
	if f.Type.Size == 0 {
		c.Type = Type{Kind: Bytes, Size: f.bytes}
	}
	return c
}

// KeyColumns returns the columns of the key, in the order of the key. They have the names and types
// of the Columns that contain the same values.
func (h *Header) KeyColumns() []Column {
	all := h.Columns()
	var columns []Column
	for _, f := range h.layout.Key {
		column := Column{
			Name:   "byte" + strconv.Itoa(f.Offset),
			Offset: f.Offset,
			Type:   f.Type,
		}
		for _, c := range all {
			if c.isOf(f) {
				column = c
			}
		}
		columns = append(columns, column)
	}
	return columns
}

// isOf reports whether a column contains the values of a field of the key. Its type may have
// another Form.
func (c Column) isOf(f Field) bool {
	sameType := c.Type.Kind == f.Type.Kind && c.Type.Size == f.Type.Size && c.Type.BigEndian == f.Type.BigEndian
	return sameType && c.Offset == f.Offset
}

// AnyOrder returns a description of the same records with some key, for commands that do not
// compare records, if a key is needed and none was given.
func AnyOrder(s Spec) Spec {
	c := s.container()
	if c != nil && (c.HasFields || s.Fields != "") && len(s.Keys) == 0 &&
		s.Type == "" {
		s.Keys = []string{"0:u8"}
	}
	return s
}
