package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The header of an npy file is a Python literal: a dictionary of strings, integers, True, False,
// None, tuples and lists. It is rewritten as JSON, whose arrays represent both tuples and lists,
// and parsed by the standard library.

// pyToken matches tokens that differ between Python and JSON: strings, integers of Python 2,
// words, an integer in parentheses, which is not a tuple, tuples, a comma after the last item,
// and the NUL that pads some headers.
var pyToken = lazyRegexp(
	`[bu]?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\d+L|[A-Za-z]+|\(\s*\d+L?\s*\)|\(|,?\s*[)\]}]|\x00`)

var jsonTokens = map[string]string{
	"True": "true", "False": "false", "None": "null", "(": "[", ")": "]", "]": "]", "}": "}", "\x00": " ",
}

// noToken is not valid JSON.
const noToken = "?"

// parseLiteral parses a literal like encoding/json, with numbers as json.Number.
func parseLiteral(text string) (v any, err error) {
	d := json.NewDecoder(
		strings.NewReader(pyToken().ReplaceAllStringFunc(text, toJSON)),
	)
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf(
			"not a Python literal that a header may contain: %w", err,
		)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("unexpected text after the literal")
	}
	return v, nil
}

func toJSON(token string) string {
	at := strings.IndexAny(token, `'"`)
	if at >= 0 {
		return stringToJSON(token[at+1 : len(token)-1])
	}
	if token[0] >= '0' && token[0] <= '9' {
		return strings.TrimSuffix(token, "L")
	}
	word, ok := jsonTokens[strings.TrimLeft(token, ", \t\r\n")]
	if ok {
		return word
	}
	return noToken
}

// Python and Go have the same escapes, except for quotes and for \x, which denotes a byte in Go.
var (
	goEscapes = strings.NewReplacer(
		`\\`, `\\`, `\"`, `\"`, `\'`, `'`, `"`, `\"`, `\x`, `\u00`,
	)
	pyEscapes = strings.NewReplacer(`\\`, `\\`, `\"`, `"`, `'`, `\'`)
)

func stringToJSON(escaped string) string {
	s, err := strconv.Unquote(`"` + goEscapes.Replace(escaped) + `"`)
	if err != nil || !utf8.ValidString(s) {
		return noToken
	}
	quoted, _ := json.Marshal(s) // it cannot fail
	return string(quoted)
}

// pyRepr formats a dtype, or with asTuple a part of one, like Python's repr. A structure is a
// list of tuples. Lists inside such a tuple are tuples as well, except for the second item, which
// may be a structure.
func pyRepr(v any, asTuple bool) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case string:
		quoted := strconv.Quote(v)
		if strings.Contains(v, "'") && !strings.Contains(v, `"`) {
			return quoted
		}
		return "'" + pyEscapes.Replace(quoted[1:len(quoted)-1]) + "'"
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = pyRepr(item, !asTuple || i != 1)
		}
		list := strings.Join(items, ", ")
		switch {
		case !asTuple:
			return "[" + list + "]"
		case len(v) == 1:
			list += ","
		}

		return "(" + list + ")"
	}

	return fmt.Sprint(v)
}
