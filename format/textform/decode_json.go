package textform

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

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
