package textform

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/extsort/extsort/format"
)

// A Decoder converts lines to records. After SetHeader it is safe for concurrent use.
type Decoder struct {
	form       Form
	recordSize int
	columns    []columnCodec // in the order of the cells
	byName     map[string]*columnCodec
}

// NewDecoder returns a decoder for records of a size with the given columns. Bytes of a record that
// no column contains become 0.
func NewDecoder(form Form, recordSize int, columns []format.Column) *Decoder {
	d := &Decoder{
		form:       form,
		recordSize: recordSize,
		columns:    columnCodecs(columns),
		byName:     map[string]*columnCodec{},
	}
	for i := range d.columns {
		d.byName[d.columns[i].Name] = &d.columns[i]
	}
	return d
}

// A LineError reports a line that can't be converted to a record.
type LineError struct {
	Line int64  // from 1
	Text string // the problem, with the content of the line
}

func (e *LineError) Error() string {
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// maxShownBytes limits how much of a line an error shows.
const maxShownBytes = 60

// shown returns a text as an error shows it.
func shown(text []byte) string {
	if len(text) > maxShownBytes {
		return strconv.Quote(string(text[:maxShownBytes])) + "…"
	}
	return strconv.Quote(string(text))
}

// trimEnd returns a line without its end.
func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// Whole returns the length of the lines at the beginning of text that are complete. A line break
// between quotes does not end a line.
func (d *Decoder) Whole(text []byte) int {
	end := bytes.LastIndexByte(text, '\n') + 1
	if d.form != CSV {
		return end
	}
	quotes := countQuotes(text[:end])
	for quotes%2 != 0 {
		last := bytes.LastIndexByte(text[:end], '"') // all line breaks after it are between quotes
		start := bytes.LastIndexByte(text[:last], '\n') + 1
		quotes -= countQuotes(text[start:end])
		end = start
	}
	return end
}

func countQuotes(text []byte) int { return bytes.Count(text, []byte{'"'}) }

// Append appends the records of whole lines. line is the number of the first one. The last one need
// not have a line break. It returns the number of lines.
func (d *Decoder) Append(
	dst, text []byte, line int64,
) (recs []byte, lines int64, err error) {
	for len(text) > 0 {
		var fast int64
		dst, text, fast = d.appendSimple(dst, text)
		lines += fast
		if len(text) == 0 {
			break
		}
		one := d.firstLine(text)
		text = text[len(one):]
		content := trimEnd(one)
		if len(content) > 0 || d.form == TSV {
			start := len(dst)
			dst = append(dst, make([]byte, d.recordSize)...)
			if err := d.decode(dst[start:], content); err != nil {
				return dst[:start], lines, &LineError{line + lines, err.Error()}
			}
		}
		lines += 1 + int64(bytes.Count(content, []byte{'\n'}))
	}
	return dst, lines, nil
}

// appendSimple appends the records of the lines before the first one that is unusual: one with
// quotes, blanks or an error, or the last one. It returns the text from that line on, and the
// number of lines before it.
func (d *Decoder) appendSimple(dst, text []byte) (recs, rest []byte, lines int64) {
	if !d.form.HasHeader() {
		return dst, text, 0
	}
	for {
		start := len(dst)
		dst = append(dst, make([]byte, d.recordSize)...)
		length := d.decodeSimple(dst[start:], text)
		if length == 0 {
			return dst[:start], text, lines
		}
		text = text[length:]
		lines++
	}
}

// decodeSimple fills a record of zeros from the line at the beginning of text. It returns the length
// of the line with its end, or 0 if the line is not a simple one.
func (d *Decoder) decodeSimple(rec, text []byte) (length int) {
	if len(text) == 0 || text[0] == '\n' || text[0] == '\r' {
		return 0 // an empty line is not always a record
	}
	separator := d.form.separator()
	last := len(d.columns) - 1
	for i := range d.columns {
		n := d.columns[i].decodeSimple(rec, text[length:], separator)
		if n < 0 {
			return 0
		}
		length += n
		if i < last {
			if text[length] != separator {
				return 0
			}
			length++
		}
	}
	if text[length] == '\r' {
		length++
	}
	if length == len(text) || text[length] != '\n' {
		return 0
	}
	return length + 1
}

// decodeSimple decodes the cell at the beginning of a text and returns its length, or -1 if the cell
// is not a simple one. Other characters follow the cell.
func (c *columnCodec) decodeSimple(rec, text []byte, separator byte) int {
	value := c.valueIn(rec)
	if c.scan != nil {
		if len(text) <= scanBytes {
			return -1
		}
		if n := c.scan(value, text); n > 0 {
			return n
		}
		return -1
	}
	for n, char := range text {
		switch char {
		case '"':
			return -1
		case separator, '\n', '\r':
			if c.decode(value, text[:n]) != "" {
				return -1
			}
			return n
		}
	}
	return -1
}

// firstLine returns the first line of text, with its end.
func (d *Decoder) firstLine(text []byte) []byte {
	end := bytes.IndexByte(text, '\n') + 1
	if end == 0 {
		return text
	}
	if d.form != CSV {
		return text[:end]
	}
	for isOpen := countQuotes(text[:end])%2 != 0; isOpen; {
		quote := bytes.IndexByte(text[end:], '"') // all line breaks before it are between quotes
		if quote < 0 {
			return text
		}
		start := end
		length := bytes.IndexByte(text[end+quote:], '\n') + 1
		if length == 0 {
			return text
		}
		end += quote + length
		isOpen = countQuotes(text[start:end])%2 == 0
	}
	return text[:end]
}

// decode fills a record of zeros.
func (d *Decoder) decode(rec, line []byte) error {
	switch d.form {
	case JSONL:
		return d.decodeObject(rec, line)
	case Hex:
		return d.decodeHex(rec, line)
	}
	return d.decodeCells(rec, line)
}

// set decodes the text of a value into a record.
func (c *columnCodec) set(rec, text []byte) error {
	if !c.isText {
		text = bytes.TrimSpace(text)
	}
	fault := c.decode(c.valueIn(rec), text)
	if fault == "" {
		return nil
	}
	return fmt.Errorf(
		"%s %s (field %s, type %v)", shown(text), fault, c.Name, c.Type,
	)
}

// ParseValue converts the text of one value to the bytes of the column.
func ParseValue(c format.Column, text string) ([]byte, error) {
	c.Offset = 0
	value := make([]byte, c.Type.Size)
	if err := columnCodecs([]format.Column{c})[0].set(value, []byte(text)); err != nil {
		return nil, err
	}
	return value, nil
}
