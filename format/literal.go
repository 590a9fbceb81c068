package format

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/scanner"
)

// The header of an npy file is a Python literal. parseLiteral reads what such headers are made of: strings,
// integers, True, False, None, tuples, lists and dictionaries whose keys are strings. As Go values these are
// string, int64, bool, nil, tuple, []any and map[string]any.

type tuple []any

// maxLiteralDepth bounds the recursion.
const maxLiteralDepth = 32

type literalParser struct {
	scanner.Scanner
	token rune // the next one
	depth int
}

func parseLiteral(text string) (any, error) {
	var p literalParser
	p.Init(strings.NewReader(text))
	p.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanChars | scanner.ScanStrings
	p.Whitespace |= 1                           // NUL pads some headers
	p.Error = func(*scanner.Scanner, string) {} // it complains of what Python allows; we find the rest
	p.next()
	v, err := p.value()
	if err == nil && p.token != scanner.EOF {
		err = errors.New("something follows the literal")
	}
	if err != nil {
		return nil, fmt.Errorf("character %d of the header: %w", p.Offset, err)
	}
	return v, nil
}

func (p *literalParser) next() { p.token = p.Scan() }

// accept consumes the token if it is next.
func (p *literalParser) accept(token rune) bool {
	if p.token != token {
		return false
	}
	p.next()
	return true
}

func (p *literalParser) value() (any, error) {
	if p.depth++; p.depth > maxLiteralDepth {
		return nil, errors.New("the literal is nested too deeply")
	}
	defer func() { p.depth-- }()
	switch p.token {
	case '{':
		return p.dict()
	case '[':
		list, _, err := p.list(']')
		return list, err
	case '(':
		list, comma, err := p.list(')')
		if err == nil && len(list) == 1 && !comma {
			return list[0], nil // parentheses only
		}
		return tuple(list), err
	case scanner.Char, scanner.String:
		return p.str()
	case '-', scanner.Int:
		return p.integer()
	case scanner.EOF:
		return nil, errors.New("the literal ends too early")
	}
	return p.word()
}

// word reads a constant, or a string with a prefix as Python 2 wrote it.
func (p *literalParser) word() (any, error) {
	word := p.TokenText()
	p.next()
	switch word {
	case "True", "False":
		return word == "True", nil
	case "None":
		return nil, nil
	case "u", "b":
		if p.token == scanner.Char || p.token == scanner.String {
			return p.str()
		}
	}
	return nil, errors.New("not a Python literal of the kind that headers have")
}

func (p *literalParser) integer() (any, error) {
	sign := ""
	if p.accept('-') {
		sign = "-"
	}
	v, err := strconv.ParseInt(sign+p.TokenText(), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number of 64 bits", sign+p.TokenText())
	}
	if p.next(); p.token == scanner.Ident && p.TokenText() == "L" { // Python 2
		p.next()
	}
	return v, nil
}

// items reads what stands between brackets, each item by add; trailing tells whether a comma came last.
func (p *literalParser) items(closing rune, add func() error) (trailing bool, err error) {
	p.next()
	for first := true; !p.accept(closing); first = false {
		if !first && !trailing {
			return false, fmt.Errorf("a comma or %q is missing", closing)
		}
		if err := add(); err != nil {
			return false, err
		}
		trailing = p.accept(',')
	}
	return trailing, nil
}

func (p *literalParser) list(closing rune) (list []any, trailing bool, err error) {
	trailing, err = p.items(closing, func() error {
		v, err := p.value()
		list = append(list, v)
		return err
	})
	return list, trailing, err
}

func (p *literalParser) dict() (any, error) {
	dict := map[string]any{}
	_, err := p.items('}', func() error {
		k, err := p.value()
		if err != nil {
			return err
		}
		key, ok := k.(string)
		if !ok || !p.accept(':') {
			return errors.New("a dictionary needs 'key': value")
		}
		if _, twice := dict[key]; twice {
			return fmt.Errorf("key %q stands there twice", key)
		}
		dict[key], err = p.value()
		return err
	})
	return dict, err
}

func (p *literalParser) str() (any, error) {
	text := p.TokenText()
	quote, rest := text[0], text[1:]
	var s strings.Builder
	for rest != "" && rest[0] != quote {
		if len(rest) > 1 && rest[0] == '\\' && (rest[1] == '\'' || rest[1] == '"') { // Go knows the one or the other
			s.WriteByte(rest[1])
			rest = rest[2:]
			continue
		}
		r, _, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return nil, fmt.Errorf("unknown escape in %s", text)
		}
		s.WriteRune(r)
		rest = tail
	}
	if rest == "" {
		return nil, errors.New("a string does not end on its line")
	}
	p.next()
	return s.String(), nil
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
	for _, r := range s {
		if at := strings.IndexRune("\\\n\r\t"+quote, r); at >= 0 {
			b.WriteString(`\` + (`\nrt` + quote)[at:at+1])
		} else if r < ' ' || r == 0x7f {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return quote + b.String() + quote
}
