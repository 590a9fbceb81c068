package textform

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
)

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
