package main

import (
	"fmt"
	"strings"

	"github.com/extsort/extsort/format"
)

// typeName converts type names of other programs to names that format.ParseType accepts, for
// example uint64, Double, U64, u32le and NumPy's <u8. It returns other names unchanged.
func typeName(s string) string {
	if _, err := format.ParseType(s); err == nil {
		return s
	}
	if t, ok := format.NamedType(s); ok {
		return t.String()
	}
	return s
}

// parseTypeName parses the value of -t. For a separator, which -t sets in GNU sort, it returns an
// error with a hint.
func parseTypeName(s string) (string, error) {
	if len(s) == 1 && strings.ContainsAny(s, ",;:| \t") ||
		strings.HasPrefix(s, `\`) {
		return "", fmt.Errorf("%q: fields have no separator here: -t TYPE means plain numbers; use -R BYTES "+
			"-k OFFSET:TYPE for a field", s)
	}
	text, err := notEmpty(s)
	return typeName(text), err
}

// colonCount matches a type such as packed:5 in a key, whose colon would separate it from a
// direction.
var colonCount = lazyRegexp(
	`^([0-9]+:(?:zoned|packed|ebcdic)):([0-9]+)`,
)

// keyName converts the type in a key like typeName. It leaves names of NumPy fields unchanged.
func keyName(s string) string {
	s = colonCount().ReplaceAllString(s, "$1$2")
	parts := strings.SplitN(s, ":", 3)
	if len(parts) > 1 && parts[0] != "" &&
		strings.Trim(parts[0], "0123456789") == "" {
		parts[1] = typeName(parts[1])
		if len(parts) == 3 &&
			(strings.EqualFold(parts[2], "desc") ||
				strings.EqualFold(parts[2], "asc")) {
			parts[2] = strings.ToLower(parts[2])
		}
	}
	return strings.Join(parts, ":")
}
