package textform

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// SetHeader uses the line at the beginning of text as the names of the columns, in the order of
// the cells, and returns its length. If required is not set, a line that contains anything other
// than such names is not a header. A header need not name all columns.
func (d *Decoder) SetHeader(
	text []byte, required bool,
) (length int, err error) {
	length = bytes.IndexByte(text, '\n') + 1
	if length == 0 {
		length = len(text)
	}
	line := trimEnd(text[:length])
	var columns []columnCodec
	for len(line) > 0 || len(columns) == 0 {
		var cell []byte
		cell, line, err = d.nextCell(line)
		c := d.byName[string(bytes.TrimSpace(cell))]
		isTwice := c != nil &&
			slices.ContainsFunc(columns, func(other columnCodec) bool {
				return other.Name == c.Name
			})
		switch {
		case err == nil && c != nil && !isTwice:
		case !required:
			return 0, nil
		case isTwice:
			return 0, &LineError{1, fmt.Sprintf(
				"the header names the field %s twice", c.Name,
			)}
		default:
			return 0, &LineError{1, fmt.Sprintf(
				"the header has %s, which is not a field", shown(cell),
			)}
		}
		columns = append(columns, *c)
	}
	if !required &&
		!slices.ContainsFunc(columns, func(c columnCodec) bool {
			return !isNumeral(c.Name)
		}) {
		return 0, &LineError{1, "it may be a header or a record: say which"}
	}
	d.columns = columns
	return length, nil
}

// HeaderProblem says why the line at the beginning of text is not a header.
func (d *Decoder) HeaderProblem(text []byte) string {
	probe := *d
	_, err := probe.SetHeader(text, true)
	if bad, ok := errors.AsType[*LineError](err); ok {
		return strings.TrimPrefix(bad.Text, "the header has ")
	}
	return ""
}

// isNumeral reports whether the name of a column could be a value.
func isNumeral(name string) bool {
	return strings.Trim(name, "0123456789") == ""
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

func (d *Decoder) decodeHex(rec, line []byte) error {
	digits := line
	if bytes.IndexByte(line, ' ') >= 0 {
		digits = bytes.ReplaceAll(line, []byte(" "), nil)
	}
	digits = bytes.TrimPrefix(digits, []byte("0x"))
	if len(digits) != 2*len(rec) {
		return fmt.Errorf(
			"%s has %d digits: a record of %d bytes has %d",
			shown(line),
			len(digits),
			len(rec),
			2*len(rec),
		)
	}
	if _, err := hex.Decode(rec, digits); err != nil {
		return fmt.Errorf("%s is not hexadecimal", shown(line))
	}
	return nil
}

func (d *Decoder) decodeCells(rec, line []byte) error {
	rest := line
	for i := range d.columns {
		c := &d.columns[i]
		if i > 0 && rest == nil {
			return fmt.Errorf(
				"%s has too few values: %d instead of %d",
				shown(line),
				i,
				len(d.columns),
			)
		}
		cell, after, err := d.nextCell(rest)
		if err != nil {
			return fmt.Errorf("%s %w", shown(line), err)
		}
		if err := c.set(rec, cell); err != nil {
			return err
		}
		rest = after
	}
	if rest != nil {
		return fmt.Errorf(
			"%s has too many values: more than %d", shown(line), len(d.columns),
		)
	}
	return nil
}

var errQuote = errors.New("has an incomplete quotation")

// errBareQuote is the error of a quote in a cell that does not begin with one. Such quotes would join lines, because a
// line break between two quotes does not end a line.
var errBareQuote = errors.New("has a quote within a value: put the value into quotes, and write its quotes twice")

// nextCell returns the first cell of a line, without its quotes, and the rest of the line after the
// separator, which is nil if there is no separator.
func (d *Decoder) nextCell(line []byte) (cell, rest []byte, err error) {
	if d.form == CSV && len(line) > 0 && line[0] == '"' {
		return quotedCell(line)
	}
	cell = line
	if at := bytes.IndexByte(line, d.form.separator()); at >= 0 {
		cell = line[:at]
		rest = line[at+1:]
	}
	if d.form == CSV && bytes.IndexByte(cell, '"') >= 0 {
		return nil, nil, errBareQuote
	}
	return cell, rest, nil
}

// quotedCell is nextCell for a cell that begins with a quote.
func quotedCell(line []byte) (cell, rest []byte, err error) {
	text := line[1:]
	isDoubled := false
	for at := 0; ; at++ {
		next := bytes.IndexByte(text[at:], '"')
		if next < 0 {
			return nil, nil, errQuote
		}
		at += next
		after := text[at+1:]
		if len(after) > 0 && after[0] == '"' {
			isDoubled = true
			at++
			continue
		}
		cell = text[:at]
		if isDoubled {
			cell = bytes.ReplaceAll(cell, []byte(`""`), []byte(`"`))
		}
		switch {
		case len(after) == 0:
			return cell, nil, nil
		case after[0] == ',':
			return cell, after[1:], nil
		}
		return nil, nil, errQuote
	}
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

// decodeObject decodes an object of JSON. Values of text are strings, and numbers may be.
func (d *Decoder) decodeObject(rec, line []byte) error {
	bad := func(what string) error {
		return fmt.Errorf("%s is not an object of JSON: %s", shown(line), what)
	}
	rest := bytes.TrimSpace(line)
	if len(rest) < 2 || rest[0] != '{' || rest[len(rest)-1] != '}' {
		return bad("it is not between { and }")
	}
	rest = bytes.TrimSpace(rest[1 : len(rest)-1])
	seen := 0
	var given []*columnCodec // only if the names are not in the order of the columns
	for i := 0; len(rest) > 0; i++ {
		name, after, ok := jsonScalar(rest)
		after = bytes.TrimLeft(after, " \t")
		if !ok || rest[0] != '"' || len(after) == 0 || after[0] != ':' {
			return bad("a name in quotes and a colon must precede each value")
		}
		c := d.column(i, name)
		if c == nil {
			return fmt.Errorf(
				"%s is not a field: the fields are %s", shown(name), d.names(),
			)
		}
		if given, ok = d.addGiven(given, i, c); !ok {
			return bad("it has " + c.Name + " twice")
		}
		value, after, ok := jsonScalar(bytes.TrimLeft(after[1:], " \t"))
		if !ok {
			return bad(
				"the value of " + c.Name + " is neither a number nor a string",
			)
		}
		if err := c.set(rec, value); err != nil {
			return err
		}
		seen++
		rest = bytes.TrimLeft(after, " \t")
		if len(rest) == 0 {
			break
		}
		if rest[0] != ',' {
			return bad("a comma must separate values")
		}
		rest = bytes.TrimLeft(rest[1:], " \t")
		if len(rest) == 0 {
			return bad("a value is missing after the last comma")
		}
	}
	if seen != len(d.columns) {
		return fmt.Errorf(
			"%s has %d values instead of %d: %s",
			shown(line),
			seen,
			len(d.columns),
			d.names(),
		)
	}
	return nil
}

// column returns the column with a name. Most objects have them in their order.
func (d *Decoder) column(i int, name []byte) *columnCodec {
	if i < len(d.columns) && d.columns[i].Name == string(name) {
		return &d.columns[i]
	}
	return d.byName[string(name)]
}

// addGiven notes that value i of an object belongs to column c. ok is false if an earlier value
// does.
func (d *Decoder) addGiven(
	given []*columnCodec,
	i int,
	c *columnCodec,
) (all []*columnCodec, ok bool) {
	if given == nil && i < len(d.columns) && c == &d.columns[i] {
		return nil, true
	}
	if given == nil {
		for before := range min(i, len(d.columns)) {
			given = append(given, &d.columns[before])
		}
	}
	return append(given, c), !slices.Contains(given, c)
}

func (d *Decoder) names() string {
	var names []string
	for i := range d.columns {
		names = append(names, d.columns[i].Name)
	}
	return strings.Join(names, ", ")
}

// jsonScalar returns the number or string at the beginning of a text, and the text after it.
func jsonScalar(text []byte) (value, rest []byte, ok bool) {
	if len(text) == 0 {
		return nil, nil, false
	}
	if text[0] != '"' {
		end := bytes.IndexAny(text, ", \t:")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], end > 0 &&
			(text[0] == '-' || digitOf(text[0]) < 10)
	}
	for end := 1; end < len(text); end++ {
		switch text[end] {
		case '\\':
			end++
		case '"':
			inside := text[1:end]
			if bytes.IndexByte(inside, '\\') < 0 {
				return inside, text[end+1:], true
			}
			var s string
			err := json.Unmarshal(text[:end+1], &s)
			return []byte(s), text[end+1:], err == nil
		}
	}
	return nil, nil, false
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
