package computed

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/format"
)

// A function is a row of the table of functions.
type function struct {
	name        string
	least, most int    // number of fields
	example     string // for messages
	isCurve     bool   // its fields are dimensions, with ranges and a number of bits

	// accepts reports whether a field can have a type. types describes these types.
	accepts func(t format.Type) bool
	types   string

	// compute computes the keys of a block of records.
	compute func(c *call, b *block)
}

// anyFields is the maximum number of fields of a function that accepts any number.
const anyFields = 1 << 10

var functions = []function{
	{
		name:    "hilbert",
		least:   2,
		most:    maxDimensions,
		example: "hilbert(lon,lat)",
		isCurve: true,
		accepts: isCoordinate,
		types:   "a number of at most 64 bits",
		compute: hilbertKeys,
	},
	{
		name:    "morton",
		least:   2,
		most:    maxDimensions,
		example: "morton(x,y,z)",
		isCurve: true,
		accepts: isCoordinate,
		types:   "a number of at most 64 bits",
		compute: mortonKeys,
	},
	{
		name:    "bit_reverse",
		least:   1,
		most:    1,
		example: "bit_reverse(id)",
		accepts: isInteger,
		types:   "an integer of at most 64 bits",
		compute: reversedKeys,
	},
	{
		name:    "xxh64",
		least:   1,
		most:    anyFields,
		example: "xxh64(id)",
		accepts: func(format.Type) bool { return true },
		compute: hashedKeys,
	},
}

// isInteger reports whether values of a type are integers of at most 64 bits.
func isInteger(t format.Type) bool {
	return (t.Kind == format.Unsigned || t.Kind == format.Signed) && t.Size <= 8
}

// isCoordinate reports whether values of a type can be the coordinates of a point.
func isCoordinate(t format.Type) bool { return isInteger(t) || t.IsFloat() && t.Size <= 8 }

// A key is an element of the list of keys: a field, or a function of fields.
type key struct {
	text     string
	function *function // nil: a field
	desc     bool
	bits     int // for each dimension of a curve
	fields   []argument
}

// An argument is a field of a function.
type argument struct {
	field string // as the container parses it
	// low and high are the range of a dimension. They are "" if the range is that of the data.
	low, high string
}

// Keys is a list of keys, of which at least one is computed.
type Keys struct{ keys []key }

// Parse parses a list of keys, the most significant first. It returns nil if none of them is
// computed. Keys with unknown functions are left to the container, because a field of a NumPy array
// can have such a name.
func Parse(texts []string) (*Keys, error) {
	all := &Keys{}
	isComputed := false
	for _, text := range texts {
		name, arguments, isCall := format.ParseCall(text)
		if !isCall {
			all.keys = append(all.keys, key{text: text})
			continue
		}
		isComputed = true
		k, err := parseCall(text, name, arguments)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", text, err)
		}
		all.keys = append(all.keys, k)
	}
	if !isComputed {
		return nil, nil
	}
	return all, nil
}

// parseCall parses the arguments of a function and the direction after them.
func parseCall(text, name, arguments string) (key, error) {
	k := key{text: text, desc: strings.HasSuffix(text, ":desc")}
	at := slices.IndexFunc(functions, func(f function) bool { return f.name == name })
	k.function = &functions[at]

	for word := range strings.SplitSeq(arguments, ",") {
		if err := k.parseArgument(strings.TrimSpace(word)); err != nil {
			return k, err
		}
	}

	f := k.function
	if n := len(k.fields); n < f.least || n > f.most {
		return k, fmt.Errorf("%s needs %s, not %d, for example %s", name, f.arity(), n, f.example)
	}
	if f.isCurve && k.bits == 0 {
		k.bits = usualBits(len(k.fields))
	}
	return k, nil
}

// arity describes the number of fields.
func (f *function) arity() string {
	switch {
	case f.most == anyFields:
		return "at least one field"
	case f.most > f.least:
		return fmt.Sprintf("%d to %d fields", f.least, f.most)
	}
	return english.Plural(f.least, "field", "")
}

// parseArgument parses FIELD, FIELD=LOW:HIGH or bits=N.
func (k *key) parseArgument(word string) error {
	field, value, hasValue := word, "", false
	if at := strings.LastIndexByte(word, '='); at >= 0 {
		field, value, hasValue = word[:at], word[at+1:], true
	}
	field = strings.TrimSpace(field)
	switch {
	case field == "":
		return fmt.Errorf("a field is missing, for example %s", k.function.example)
	case strings.HasSuffix(field, ":desc"):
		return fmt.Errorf("a direction follows the whole key: %s:desc", k.function.example)
	case !hasValue:
		k.fields = append(k.fields, argument{field: field})
		return nil
	case !k.function.isCurve:
		return fmt.Errorf("%s has no options: leave =%s out", k.function.name, value)
	}
	return k.parseOption(field, value)
}

// parseOption parses the range of a field, or the number of bits.
func (k *key) parseOption(field, value string) error {
	low, high, isRange := strings.Cut(value, ":")
	switch {
	case isRange && low != "" && high != "":
		k.fields = append(k.fields, argument{field, low, high})
	case field == "bits" && (value == "16" || value == "32"):
		k.bits, _ = strconv.Atoi(value)
	case field == "bits":
		return fmt.Errorf("bits=%s: a dimension has 16 or 32 bits", value)
	default:
		return fmt.Errorf("%s=%s: want FIELD=LOW:HIGH, for example lon=-180:180", field, value)
	}
	return nil
}

// usualBits returns the number of bits of each dimension if none is given: as many as fit into 64
// bits.
func usualBits(dimensions int) int {
	if dimensions == 2 {
		return 32
	}
	return 16
}

// Fields returns keys that are the fields which the keys need, in the order of their use. A
// container parses them in place of the list.
func (k *Keys) Fields() (fields []string) {
	for _, one := range k.keys {
		if one.function == nil {
			fields = append(fields, one.text)
		}
		for _, argument := range one.fields {
			fields = append(fields, argument.field)
		}
	}
	return fields
}

// Count returns the number of computed keys.
func (k *Keys) Count() (n int) {
	for _, one := range k.keys {
		if one.function != nil {
			n++
		}
	}
	return n
}

// Texts returns the keys as they were given.
func (k *Keys) Texts() (texts []string) {
	for _, one := range k.keys {
		texts = append(texts, one.text)
	}
	return texts
}
