package textform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// blanks are the characters that may surround the names and values of an object.
const blanks = " \t"

// decodeObject decodes an object of JSON. Values of text are strings, and numbers may be.
func (d *Decoder) decodeObject(rec, line []byte) error {
	rest := bytes.TrimSpace(line)
	if len(rest) < 2 || rest[0] != '{' || rest[len(rest)-1] != '}' {
		return notAnObject(line, "it is not between { and }")
	}
	rest = bytes.TrimSpace(rest[1 : len(rest)-1])
	values := 0
	var given []*columnCodec // only if the names are not in the order of the columns
	for len(rest) > 0 {
		name, after, ok := jsonName(rest)
		if !ok {
			return notAnObject(line, "a name in quotes and a colon must precede each value")
		}
		c := d.column(values, name)
		if c == nil {
			return fmt.Errorf("%s is not a field: the fields are %s", shown(name), d.names())
		}
		if given, ok = d.addGiven(given, values, c); !ok {
			return notAnObject(line, "it has "+c.Name+" twice")
		}
		value, after, ok := jsonScalar(after)
		if !ok {
			return notAnObject(line, "the value of "+c.Name+" is neither a number nor a string")
		}
		if err := c.set(rec, value); err != nil {
			return err
		}
		values++
		var why string
		if rest, why = afterComma(after); why != "" {
			return notAnObject(line, why)
		}
	}
	if values != len(d.columns) {
		return fmt.Errorf("%s has %d values instead of %d: %s", shown(line), values, len(d.columns), d.names())
	}
	return nil
}

func notAnObject(line []byte, why string) error {
	return fmt.Errorf("%s is not an object of JSON: %s", shown(line), why)
}

// jsonName returns the name at the beginning of a text, and the value that follows its colon.
func jsonName(text []byte) (name, value []byte, ok bool) {
	name, rest, ok := jsonScalar(text)
	rest = bytes.TrimLeft(rest, blanks)
	if !ok || text[0] != '"' || len(rest) == 0 || rest[0] != ':' {
		return nil, nil, false
	}
	return name, bytes.TrimLeft(rest[1:], blanks), true
}

// afterComma returns the text after the comma that follows a value, or nothing if it was the last value. If the comma
// or the next value is missing, it says so.
func afterComma(text []byte) (next []byte, why string) {
	text = bytes.TrimLeft(text, blanks)
	if len(text) == 0 {
		return nil, ""
	}
	if text[0] != ',' {
		return nil, "a comma must separate values"
	}
	next = bytes.TrimLeft(text[1:], blanks)
	if len(next) == 0 {
		return nil, "a value is missing after the last comma"
	}
	return next, ""
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
