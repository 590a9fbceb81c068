package lookup

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
)

// Keys converts the values of key fields to normalized keys. It is safe for concurrent use.
//
// A packed key consists of the key fields of a record, one after another, without other bytes.
type Keys struct {
	columns []format.Column
	fields  []format.Field
	// prefixes[i] converts the first i+1 fields.
	prefixes []keyFields
}

// keyFields converts a packed key that consists of some of the fields.
type keyFields struct {
	keyer   *format.Keyer
	decoder *textform.Decoder
	columns []format.Column // columns of the packed key
}

// NewKeys returns the Keys of a layout. columns contains the column of each key field.
func NewKeys(layout format.Layout, columns []format.Column) (*Keys, error) {
	k := &Keys{columns: columns, fields: layout.Key}
	packed := format.Layout{}
	var places []format.Column
	for i, f := range layout.Key {
		place := columns[i]
		place.Offset = packed.RecordSize
		places = append(places, place)
		f.Offset = packed.RecordSize
		packed.RecordSize += f.Type.Size
		packed.Key = append(packed.Key[:i:i], f)
		keyer, err := format.NewKeyer(packed)
		if err != nil {
			return nil, err
		}
		k.prefixes = append(k.prefixes, keyFields{
			keyer:   keyer,
			decoder: textform.NewDecoder(textform.CSV, packed.RecordSize, places),
			columns: places,
		})
	}
	return k, nil
}

// whole converts all fields.
func (k *Keys) whole() *keyFields { return &k.prefixes[len(k.prefixes)-1] }

// PackedSize returns the size of a packed key.
func (k *Keys) PackedSize() int { return k.whole().keyer.Layout().RecordSize }

// Columns returns the columns of a packed key.
func (k *Keys) Columns() []format.Column { return k.whole().columns }

// Append appends the normalized key of a packed key.
func (k *Keys) Append(dst, packed []byte) []byte { return k.whole().keyer.Append(dst, packed) }

// Size returns the size of a normalized key.
func (k *Keys) Size() int { return k.whole().keyer.KeySize() }

// Pack appends the packed key of a record.
func (k *Keys) Pack(dst, rec []byte) []byte {
	for _, f := range k.fields {
		dst = append(dst, rec[f.Offset:][:f.Type.Size]...)
	}
	return dst
}

// Parse returns the normalized key of a line of CSV. The line contains the values of all key
// fields, or of the first ones only.
func (k *Keys) Parse(text string) ([]byte, error) {
	cells := cellsOf(text)
	if cells > len(k.prefixes) {
		return nil, fmt.Errorf("%q has %d values, but the key has %d: %s", text, cells, len(k.prefixes), k.names())
	}
	p := &k.prefixes[cells-1]
	packed, _, err := p.decoder.Append(nil, []byte(text), 1)
	var bad *textform.LineError
	switch {
	case errors.As(err, &bad):
		return nil, errors.New(bad.Text)
	case err != nil:
		return nil, err
	case len(packed) == 0:
		return nil, errors.New("the key is empty")
	case len(packed) != p.keyer.Layout().RecordSize:
		return nil, fmt.Errorf("the key %q has several lines: give each key as an argument of its own", text)
	}
	return p.keyer.Append(nil, packed), nil
}

// cellsOf returns the number of values in a line of CSV.
func cellsOf(line string) int {
	cells := 1
	quoted := false
	for _, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			cells++
		}
	}
	return cells
}

func (k *Keys) names() string {
	var names []string
	for _, c := range k.columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// ParsePrefix returns the common beginning of all normalized keys whose first field begins with
// text. The field must contain bytes or characters.
func (k *Keys) ParsePrefix(text string) ([]byte, error) {
	column := k.columns[0]
	width := 1 // bytes per character
	switch column.Type.Kind {
	case format.Bytes:
	case format.UCS:
		const charBytes = 4
		width = charBytes
	default:
		return nil, fmt.Errorf("field %s has the type %v: only byte strings and characters have prefixes",
			column.Name, column.Type)
	}

	size := len(text)
	switch {
	case strings.HasPrefix(text, "0x"):
		size = (len(text) - len("0x")) / 2
	case width > 1 || column.Type.Form == format.FormEBCDIC:
		size = width * utf8.RuneCountInString(text)
	}
	if size > column.Type.Size {
		return nil, fmt.Errorf("%q is longer than field %s, which has %d bytes", text, column.Name, column.Type.Size)
	}
	if size == 0 || size%width != 0 {
		return nil, fmt.Errorf("%q is not the beginning of a value of field %s", text, column.Name)
	}

	field := k.fields[0]
	field.Offset = 0
	field.Type.Size = size
	column.Offset = 0
	column.Type.Size = size
	keys, err := NewKeys(format.Layout{Key: []format.Field{field}}, []format.Column{column})
	if err != nil {
		return nil, err
	}
	return keys.Parse(quoted(text))
}

// quoted returns a text as a value of CSV.
func quoted(text string) string {
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

// Decoder returns a decoder that turns lines of text into packed keys.
func (k *Keys) Decoder(form textform.Form) *textform.Decoder {
	return textform.NewDecoder(form, k.PackedSize(), k.Columns())
}

// Encoder returns an encoder that turns packed keys into lines of text.
func (k *Keys) Encoder(form textform.Form) *textform.Encoder {
	return textform.NewEncoder(form, k.PackedSize(), k.Columns())
}
