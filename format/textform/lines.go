package textform

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/extsort/extsort/format"
)

// A Form is the form of lines.
type Form string

// The forms of lines. In the first three, each line has one value per column.
const (
	CSV   Form = "csv"   // separated by commas, and quoted if needed, as in RFC 4180
	TSV   Form = "tsv"   // separated by tabs, never quoted
	JSONL Form = "jsonl" // an object in JSON
	Hex   Form = "hex"   // the bytes of the record in hexadecimal
)

// Forms lists all forms.
var Forms = []Form{CSV, TSV, JSONL, Hex}

// HasHeader reports whether lines may begin with one that names the columns.
func (f Form) HasHeader() bool { return f == CSV || f == TSV }

func (f Form) separator() byte {
	if f == TSV {
		return '\t'
	}
	return ','
}

// A columnCodec is a column with the codec of its type.
type columnCodec struct {
	format.Column
	codec
	key []byte // the name as in an object of JSON, with a colon
}

func (c *columnCodec) valueIn(rec []byte) []byte {
	return rec[c.Offset : c.Offset+c.Type.Size]
}

func columnCodecs(columns []format.Column) []columnCodec {
	var all []columnCodec
	for _, c := range columns {
		key, _ := json.Marshal(c.Name) // a string cannot fail
		all = append(all, columnCodec{
			Column: c,
			codec:  codecOf(c.Type),
			key:    append(key, ':'),
		})
	}
	return all
}

// An Encoder converts records to lines. It is safe for concurrent use.
type Encoder struct {
	form       Form
	recordSize int
	columns    []columnCodec
}

// NewEncoder returns an encoder for records of a size with the given columns.
func NewEncoder(form Form, recordSize int, columns []format.Column) *Encoder {
	return &Encoder{
		form:       form,
		recordSize: recordSize,
		columns:    columnCodecs(columns),
	}
}

// Header appends the line that names the columns, if the form has one.
func (e *Encoder) Header(dst []byte) []byte {
	if !e.form.HasHeader() {
		return dst
	}
	for i := range e.columns {
		if i > 0 {
			dst = append(dst, e.form.separator())
		}
		start := len(dst)
		dst = append(dst, e.columns[i].Name...)
		dst = e.quoteIfNeeded(dst, start)
	}
	return append(dst, '\n')
}

// Append appends the lines of records.
func (e *Encoder) Append(dst, recs []byte) []byte {
	for ; len(recs) >= e.recordSize; recs = recs[e.recordSize:] {
		rec := recs[:e.recordSize]
		switch e.form {
		case JSONL:
			dst = e.appendObject(dst, rec)
		case Hex:
			dst = hex.AppendEncode(dst, rec)
		default:
			dst = e.appendCells(dst, rec)
		}
		dst = append(dst, '\n')
	}
	return dst
}

func (e *Encoder) appendCells(dst, rec []byte) []byte {
	separator := e.form.separator()
	first := len(dst)
	for i := range e.columns {
		c := &e.columns[i]
		if i > 0 {
			dst = append(dst, separator)
		}
		start := len(dst)
		dst = c.encode(dst, c.valueIn(rec))
		if c.isText {
			dst = e.quoteIfNeeded(dst, start)
		}
	}
	if len(dst) == first && e.form == CSV { // readers skip empty lines
		dst = append(dst, `""`...)
	}
	return dst
}

// quoteIfNeeded quotes the cell that begins at start, if a reader of CSV would take it for another
// text. Like encoding/csv, it quotes a cell that begins with a blank.
func (e *Encoder) quoteIfNeeded(dst []byte, start int) []byte {
	cell := dst[start:]
	if e.form != CSV || len(cell) == 0 {
		return dst
	}
	first, _ := utf8.DecodeRune(cell)
	if !bytes.ContainsAny(cell, ",\"\r\n") && !unicode.IsSpace(first) {
		return dst
	}
	quoted := bytes.ReplaceAll(cell, []byte(`"`), []byte(`""`))
	dst = append(dst[:start], '"')
	dst = append(dst, quoted...)
	return append(dst, '"')
}

func (e *Encoder) appendObject(dst, rec []byte) []byte {
	dst = append(dst, '{')
	for i := range e.columns {
		c := &e.columns[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c.key...)
		start := len(dst)
		dst = c.encode(dst, c.valueIn(rec))
		if !c.isNumber || !isJSONNumber(dst[start:]) {
			dst = quoteJSON(dst, start)
		}
	}
	return append(dst, '}')
}

// isJSONNumber reports whether the text of a number is a number in JSON, too.
func isJSONNumber(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	return len(digits) > 0 && digits[0] >= '0' && digits[0] <= '9' &&
		!looksRaw(digits)
}

// quoteJSON makes a string of the text that begins at start. The text can be printed, so that only
// quotes and backslashes have to be escaped.
func quoteJSON(dst []byte, start int) []byte {
	text := dst[start:]
	if bytes.ContainsAny(text, `"\`) {
		text = slices.Clone(text)
		dst = append(dst[:start], '"')
		for _, c := range text {
			if c == '"' || c == '\\' {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		}
		return append(dst, '"')
	}
	dst = append(dst, '"')
	copy(dst[start+1:], dst[start:])
	dst[start] = '"'
	return append(dst, '"')
}

// Cells appends the texts of the columns of one record, for a table.
func (e *Encoder) Cells(texts []string, rec []byte) []string {
	var buffer []byte
	for i := range e.columns {
		c := &e.columns[i]
		buffer = c.encode(buffer[:0], c.valueIn(rec))
		texts = append(texts, string(buffer))
	}
	return texts
}

// IsNumber reports whether a table aligns a column to the right.
func (e *Encoder) IsNumber(column int) bool {
	return e.columns[column].isNumber
}
