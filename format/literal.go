package format

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The header of an npy file is a Python literal. parseLiteral reads what such headers are made of: strings,
// integers, True, False, None, tuples, lists and dictionaries whose keys are strings. As Go values these are
// string, int64, bool, nil, tuple, []any and map[string]any.

type tuple []any

// maxLiteralDepth bounds the recursion.
const maxLiteralDepth = 32

type literalParser struct {
	text  string
	at    int
	depth int
}

func parseLiteral(text string) (any, error) {
	p := &literalParser{text: text}
	v, err := p.value()
	if err == nil {
		if p.skipSpace(); p.at < len(p.text) {
			err = errors.New("something follows the literal")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("character %d of the header: %w", p.at, err)
	}
	return v, nil
}

func (p *literalParser) skipSpace() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n\x00", p.text[p.at]) >= 0 {
		p.at++
	}
}

// peek is the next byte that is no space, or 0 at the end.
func (p *literalParser) peek() byte {
	if p.skipSpace(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// accept consumes c if it is next.
func (p *literalParser) accept(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

func (p *literalParser) value() (any, error) {
	if p.depth++; p.depth > maxLiteralDepth {
		return nil, errors.New("the literal is nested too deeply")
	}
	defer func() { p.depth-- }()
	switch c := p.peek(); {
	case c == '{':
		return p.dict()
	case c == '[':
		return p.list()
	case c == '(':
		return p.tuple()
	case c == '\'' || c == '"':
		return p.str()
	case c == '-' || c >= '0' && c <= '9':
		return p.integer()
	}
	return p.word()
}

// word reads a constant, or a string with a prefix as Python 2 wrote it.
func (p *literalParser) word() (any, error) {
	rest := p.text[p.at:]
	for word, v := range map[string]any{"True": true, "False": false, "None": nil} {
		if strings.HasPrefix(rest, word) {
			p.at += len(word)
			return v, nil
		}
	}
	if len(rest) > 1 && (rest[0] == 'u' || rest[0] == 'b') && (rest[1] == '\'' || rest[1] == '"') {
		p.at++
		return p.str()
	}
	if rest == "" {
		return nil, errors.New("the literal ends too early")
	}
	return nil, errors.New("not a Python literal of the kind that headers have")
}

func (p *literalParser) integer() (any, error) {
	start := p.at
	p.accept('-')
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	v, err := strconv.ParseInt(p.text[start:p.at], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number of 64 bits", p.text[start:p.at])
	}
	if p.at < len(p.text) && p.text[p.at] == 'L' { // Python 2
		p.at++
	}
	return v, nil
}

// items reads values up to the closing bracket; trailing tells whether a comma came last.
func (p *literalParser) items(closing byte) (items []any, trailing bool, err error) {
	p.at++
	for !p.accept(closing) {
		if len(items) > 0 && !trailing {
			return nil, false, fmt.Errorf("a comma or %q is missing", closing)
		}
		v, err := p.value()
		if err != nil {
			return nil, false, err
		}
		items, trailing = append(items, v), p.accept(',')
	}
	return items, trailing, nil
}

func (p *literalParser) list() (any, error) {
	items, _, err := p.items(']')
	if items == nil {
		items = []any{}
	}
	return items, err
}

func (p *literalParser) tuple() (any, error) {
	items, trailing, err := p.items(')')
	if err == nil && len(items) == 1 && !trailing {
		return items[0], nil // parentheses only
	}
	return tuple(items), err
}

func (p *literalParser) dict() (any, error) {
	p.at++
	dict, comma := map[string]any{}, true
	for !p.accept('}') {
		if !comma {
			return nil, errors.New("a comma or '}' is missing")
		}
		k, err := p.value()
		if err != nil {
			return nil, err
		}
		key, ok := k.(string)
		if !ok || !p.accept(':') {
			return nil, errors.New("a dictionary needs 'key': value")
		}
		if _, twice := dict[key]; twice {
			return nil, fmt.Errorf("key %q stands there twice", key)
		}
		if dict[key], err = p.value(); err != nil {
			return nil, err
		}
		comma = p.accept(',')
	}
	return dict, nil
}

func (p *literalParser) str() (any, error) {
	quote := p.text[p.at]
	p.at++
	var s strings.Builder
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch c {
		case quote:
			return s.String(), nil
		case '\n':
			return nil, errors.New("a string does not end on its line")
		case '\\':
			if err := p.escape(&s); err != nil {
				return nil, err
			}
		default:
			s.WriteByte(c)
		}
	}
	return nil, errors.New("a string does not end")
}

func (p *literalParser) escape(s *strings.Builder) error {
	if p.at >= len(p.text) {
		return errors.New("a string does not end")
	}
	c := p.text[p.at]
	p.at++
	if at := strings.IndexByte(`\'"ntr`, c); at >= 0 {
		s.WriteByte("\\'\"\n\t\r"[at])
		return nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 || p.at+digits > len(p.text) {
		return fmt.Errorf("unknown escape \\%c", c)
	}
	v, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
	if err != nil || v > 0x10ffff {
		return fmt.Errorf("escape \\%c needs %d hexadecimal digits", c, digits)
	}
	p.at += digits
	s.WriteRune(rune(v))
	return nil
}

// pyRepr writes a value as Python's repr does.
func pyRepr(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return pyQuote(v)
	case tuple:
		if len(v) == 1 {
			return "(" + pyRepr(v[0]) + ",)"
		}
		return "(" + pyReprs(v) + ")"
	case []any:
		return "[" + pyReprs(v) + "]"
	case map[string]any:
		return fmt.Sprintf("a dictionary of %d", len(v))
	}
	return fmt.Sprint(v)
}

func pyReprs(items []any) string {
	texts := make([]string, len(items))
	for i, v := range items {
		texts[i] = pyRepr(v)
	}
	return strings.Join(texts, ", ")
}

func pyQuote(s string) string {
	quote := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = `"`
	}
	var b strings.Builder
	b.WriteString(quote)
	for _, r := range s {
		switch {
		case r == '\\' || string(r) == quote:
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString(quote)
	return b.String()
}
