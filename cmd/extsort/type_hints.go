package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/format"
)

// nearestType returns the type most similar to the unknown type in a record description, or "".
func nearestType(spec format.Spec) string {
	words := []string{spec.Type}
	for _, key := range spec.Keys {
		if _, _, isCall := format.CutCall(key); isCall {
			continue
		}
		if _, rest, ok := strings.Cut(key, ":"); ok && spec.Format == "" {
			name, _, _ := strings.Cut(rest, ":")
			words = append(words, name)
		}
	}
	for _, word := range words {
		if _, err := format.ParseType(word); err != nil && word != "" {
			if hint := typeHint(word); hint != "" {
				return hint
			}
		}
	}
	return ""
}

// nearestFunction returns the function most similar to an unknown function in a key, or "".
func nearestFunction(spec format.Spec) string {
	for _, key := range spec.Keys {
		name, _, isCall := format.CutCall(key)
		if isCall && !slices.Contains(format.KeyFunctions, name) {
			return nearestWord(name, format.KeyFunctions)
		}
	}
	return ""
}

// ambiguousBytes matches NumPy's name for N bytes, which resembles the name of a signed integer
// of N bits.
var ambiguousBytes = lazyRegexp(`^S([0-9]+)$`)

// countlessTypes maps type names that require a number to examples for the hint.
var countlessTypes = map[string]string{
	"zoned": "zoned7", "packed": "packed4", "decimal": "packed4", "ebcdic": "ebcdic10",
	"bytes": "bytes10", "char": "bytes10", "string": "bytes10", "str": "bytes10", "ch": "bytes10", "ucs": "ucs10",
	"fi": "FI4, which is i32be", "bi": "BI4, which is u32be",
}

// typeHint returns the type that an unknown word probably means, or "". The type has the kind,
// width and byte order of the word, because another kind or width would split numbers or order
// them differently.
func typeHint(word string) string {
	if parts := ambiguousBytes().FindStringSubmatch(word); parts != nil {
		return "bytes" + parts[1] + " or i" + parts[1]
	}
	if example := countlessTypes[strings.ToLower(word)]; example != "" {
		return example
	}
	lower := strings.TrimSuffix(strings.ToLower(word), "_t")
	kind, number, order := typeParts(lower)
	if near := nextWidth(kind, number, order); near != "" {
		return near
	}
	var like []string
	for _, name := range append(format.TypeNames(), "bytes"+number, "ucs"+number, "char"+number) {
		k, n, o := typeParts(name)
		if k == kind && number != "" || len(kind) == 1 {
			return "" // the kind is correct, but this width does not exist
		}
		if n == number && o == order {
			like = append(like, name)
		}
	}
	all := allNearest(lower, like)
	for _, near := range all {
		if sortedBytes(near) == sortedBytes(lower) { // the same letters in another order, for example unit64
			return onlyType([]string{near})
		}
	}
	return onlyType(all)
}

// onlyType returns the type that all names mean, or "" if they mean several types.
func onlyType(names []string) string {
	only := ""
	for _, name := range names {
		t, known := format.NamedType(name)
		if !known {
			continue
		}
		if only != "" && only != t.String() {
			return ""
		}
		only = t.String()
	}
	return only
}

// nextWidth returns the type with the given kind and byte order whose width differs from number by
// one bit, or "". For example, 31 can only be a misspelled 32, while 12 could mean 8 or 16.
func nextWidth(kind, number, order string) string {
	bits, err := strconv.Atoi(number)
	if err != nil {
		return ""
	}
	for _, width := range []int{bits + 1, bits - 1} {
		name := kind + strconv.Itoa(width) + order
		if t, known := format.NamedType(name); known &&
			slices.Contains(format.TypeNames(), name) {
			return t.String()
		}
	}
	return ""
}

func sortedBytes(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

var typeForm = lazyRegexp(`^([^0-9]*)([0-9]*)(.*)$`)

// typeParts returns the kind, the width and the byte order of a type's name; "" means
// little-endian.
func typeParts(name string) (kind, number, order string) {
	parts := typeForm().FindStringSubmatch(name)
	kind, number, order = parts[1], parts[2], parts[3]
	if base, bigEndian := strings.CutSuffix(kind, "be"); bigEndian &&
		number == "" &&
		base != "" {
		kind, order = base, "be"
	}
	return kind, number, strings.TrimPrefix(order, "le")
}
