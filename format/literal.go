package format

import (
	"fmt"
	"strconv"
	"strings"
	"text/scanner"
	"unicode/utf8"
)

// The header of an npy file is a Python literal. parseLiteral reads what such headers are made of: strings,
// integers, True, False, None, tuples, lists and dictionaries whose keys are strings. As Go values these are
// string, int64, constant, tuple, []any and map[string]any.

type (
	tuple    []any
	constant string
)

// maxLiteralDepth bounds the recursion.
const maxLiteralDepth = 32

type literalParser struct {
	text  scanner.Scanner
	token rune  // the next one
	err   error // the first fault, at which the parser stands still
}

func parseLiteral(text string) (any, error) {
	var p literalParser
	p.text.Init(strings.NewReader(text))
	p.text.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanChars | scanner.ScanStrings
	p.text.Whitespace |= 1                           // NUL pads some headers
	p.text.Error = func(*scanner.Scanner, string) {} // it complains of what Python allows; we find the rest
	p.next()
	v := p.value(1)
	if p.token != scanner.EOF {
		p.fail("something follows the literal")
	}
	if p.err != nil {
		return nil, fmt.Errorf("character %d of the header: %w", p.text.Offset, p.err)
	}
	return v, nil
}

func (p *literalParser) fail(text string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(text, args...)
	}
}

func (p *literalParser) next() {
	if p.err == nil {
		p.token = p.text.Scan()
	}
}

// accept consumes the token if it is next.
func (p *literalParser) accept(token rune) bool {
	if p.token != token {
		return false
	}
	p.next()
	return true
}

func (p *literalParser) value(depth int) any {
	if depth > maxLiteralDepth {
		p.fail("the literal is nested too deeply")
	}
	if p.err != nil {
		return nil
	}
	switch p.token {
	case '{':
		return p.dict(depth + 1)
	case '[':
		list, _ := p.list(']', depth+1)
		return list
	case '(':
		list, comma := p.list(')', depth+1)
		if len(list) == 1 && !comma {
			return list[0] // parentheses only
		}
		return tuple(list)
	case scanner.Char, scanner.String:
		return p.str()
	case '-', scanner.Int:
		return p.integer()
	}
	return p.word()
}

// word reads a constant, or a string with a prefix as Python 2 wrote it.
func (p *literalParser) word() any {
	word := p.text.TokenText()
	p.next()
	switch word {
	case "True", "False", "None":
		return constant(word)
	case "u", "b":
		if p.token == scanner.Char || p.token == scanner.String {
			return p.str()
		}
	}
	p.fail("not a Python literal of the kind that headers have")
	return nil
}

func (p *literalParser) integer() any {
	digits := p.text.TokenText()
	if p.accept('-') {
		digits = "-" + p.text.TokenText()
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		p.fail("%q is not a number of 64 bits", digits)
	}
	if p.next(); p.token == scanner.Ident && p.text.TokenText() == "L" { // Python 2
		p.next()
	}
	return v
}

// items reads what stands between brackets, each item by add; trailing tells whether a comma came last.
func (p *literalParser) items(closing rune, add func()) (trailing bool) {
	p.next()
	for first := true; p.err == nil && !p.accept(closing); first = false {
		if !first && !trailing {
			p.fail("a comma or %q is missing", closing)
		}
		add()
		trailing = p.accept(',')
	}
	return trailing
}

func (p *literalParser) list(closing rune, depth int) (list []any, trailing bool) {
	trailing = p.items(closing, func() { list = append(list, p.value(depth)) })
	return list, trailing
}

func (p *literalParser) dict(depth int) any {
	dict := map[string]any{}
	p.items('}', func() {
		key, ok := p.value(depth).(string)
		if !ok || !p.accept(':') {
			p.fail("a dictionary needs 'key': value")
		}
		if _, twice := dict[key]; twice {
			p.fail("key %q stands there twice", key)
		}
		dict[key] = p.value(depth)
	})
	return dict
}

// Python and Go have the same escapes, but for those of quotes, and for \x, which in Go makes a byte.
var (
	goEscapes = strings.NewReplacer(`\\`, `\\`, `\"`, `\"`, `\'`, `'`, `"`, `\"`, `\x`, `\u00`)
	pyEscapes = strings.NewReplacer(`\\`, `\\`, `\"`, `"`, `'`, `\'`)
)

func (p *literalParser) str() any {
	text := p.text.TokenText()
	if n := len(text); n < 2 || text[n-1] != text[0] {
		p.fail("a string does not end on its line")
		return nil
	}
	s, err := strconv.Unquote(`"` + goEscapes.Replace(text[1:len(text)-1]) + `"`)
	if err != nil || !utf8.ValidString(s) {
		p.fail("unknown escape in %s", text)
	}
	p.next()
	return s
}

// pyRepr writes a value as Python's repr does.
func pyRepr(v any) string {
	switch v := v.(type) {
	case string:
		quoted := strconv.Quote(v)
		if strings.Contains(v, "'") && !strings.Contains(v, `"`) {
			return quoted
		}
		return "'" + pyEscapes.Replace(quoted[1:len(quoted)-1]) + "'"
	case tuple:
		if len(v) == 1 {
			return "(" + pyRepr(v[0]) + ",)"
		}
		list := pyRepr([]any(v))
		return "(" + list[1:len(list)-1] + ")"
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = pyRepr(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		return "a dictionary"
	}
	return fmt.Sprint(v)
}
