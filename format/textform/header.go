package textform

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
