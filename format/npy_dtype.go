package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// dtype is a NumPy data type: a scalar, or a structure of named fields.
//
//	dtype               key type
//	u1 … u8, i1 … i8    unsigned and signed numbers
//	f2, f4, f8          floats in totalOrder
//	<V2, >V2            bf16, as ml_dtypes writes bfloat16: V that says its byte order
//	b1                  u8: False before True
//	m8, M8              i64: NaT, the least number, comes first
//	SN, VN              N bytes, as memcmp; an S is padded by zeros, so this is NumPy's order
//	UN                  N characters by their code points
//	f12, f16, c         payload only: they have no key type
//	O                   an error: the file holds pickled objects, not records
type dtype struct {
	text   string       // as Python writes it
	size   int          // bytes
	fields []ArrayField // of a structure, nested ones by dotted names; a scalar is one without a name, padding is none

	columns int // of an array of two dimensions, whose rows are the records; 0: it has one dimension
}

// Names and fields are bounded, and with them the work that a header can cause.
const (
	maxNpyFields = 1 << 14
	maxNpyName   = 1 << 10 // bytes
)

// npyNumbers are the kinds of NumPy's types that are numbers.
var npyNumbers = map[string]Kind{
	"u1": Unsigned, "u2": Unsigned, "u4": Unsigned, "u8": Unsigned, "b1": Unsigned,
	"i1": Signed, "i2": Signed, "i4": Signed, "i8": Signed, "m8": Signed, "M8": Signed,
	"f2": Float, "f4": Float, "f8": Float,
}

const npyPayloads = " f12 f16 c8 c16 c24 c32 "

func parseDtype(descr any) (dtype, error) {
	d := dtype{text: pyRepr(descr, false)}
	var err error
	d.size, err = d.add("", 0, descr)
	if err == nil && (d.size < 1 || d.size > MaxRecordSize) {
		err = fmt.Errorf("dtype %.99s has %d bytes: a record has from 1 to %d", d.text, d.size, MaxRecordSize)
	}
	return d, err
}

// add adds what descr says, at a place in the record, and gives its size in bytes.
func (d *dtype) add(name string, offset int, descr any) (size int, err error) {
	switch descr := descr.(type) {
	case string:
		f := ArrayField{Name: name, Field: Field{Offset: offset}}
		size, err = f.parse(descr)
		d.fields = append(d.fields, f)
		if len(d.fields) > maxNpyFields || len(name) > maxNpyName {
			return 0, fmt.Errorf("more than %d fields, or a name of more than %d bytes", maxNpyFields, maxNpyName)
		}
		return size, err
	case []any:
		for _, item := range descr {
			n, err := d.addField(name, offset+size, item)
			if err != nil {
				return 0, err
			}
			if size += n; size > MaxRecordSize {
				return 0, fmt.Errorf("field %.99s ends after the largest record, %d bytes", pyRepr(item, true), MaxRecordSize)
			}
		}
		return size, nil
	}
	return 0, fmt.Errorf("%.99s is neither a type nor a list of fields", pyRepr(descr, false))
}

// addField adds a field of a structure: (name, type) or (name, type, shape).
func (d *dtype) addField(structure string, offset int, item any) (size int, err error) {
	entry, ok := item.([]any)
	if !ok || len(entry) < 2 || len(entry) > 3 {
		return 0, fmt.Errorf("field %.99s is not (name, type) or (name, type, shape)", pyRepr(item, true))
	}
	name, err := fieldName(entry[0])
	if err != nil {
		return 0, err
	}
	full, before, count := strings.TrimPrefix(structure+"."+name, "."), len(d.fields), 1
	size, err = d.add(full, offset, entry[1])
	if err == nil && len(entry) == 3 { // what is in it is in the record many times
		count, err = elements(entry[2])
		why := fmt.Sprintf("field %.99q is an array: give the element as Record.Keys OFFSET:TYPE", name)
		if inside := d.fields[before:]; len(inside) == 1 && inside[0].Why == "" {
			why += fmt.Sprintf(", the first of which is %d:%v", offset, inside[0].Type)
		}
		d.fields = append(d.fields[:before], ArrayField{Name: full, Field: Field{Offset: offset}, Why: why})
	}
	if err != nil {
		return 0, fmt.Errorf("field %.99q: %w", name, err)
	}
	if name == "" { // padding
		d.fields = d.fields[:before]
	}
	return size * count, nil
}

// parse reads a type like '<u8' and gives its size in bytes.
func (f *ArrayField) parse(s string) (size int, err error) {
	if s == "" || !strings.Contains("<>=|", s[:1]) {
		return 0, fmt.Errorf("dtype %.99q has no byte order", s)
	}
	kind, _, _ := strings.Cut(s[1:], "[") // M8[ns]
	if strings.HasPrefix(kind, "O") {
		return 0, fmt.Errorf("dtype %.99q holds Python objects, which are no fixed-size records: "+
			"convert the array to numbers or bytes", s)
	}
	size, err = strconv.Atoi(kind[min(1, len(kind)):])
	if err != nil || size < 0 || size > MaxRecordSize {
		return 0, fmt.Errorf("unknown dtype %.99q", s)
	}
	number, ok := npyNumbers[kind]
	bigEndian := size > 1 && (s[0] == '>' || s[0] != '<' && hostBigEndian)
	switch {
	case ok:
		f.Type, f.NaT = Type{number, size, bigEndian}, strings.Contains("mM", kind[:1])
	case kind == "V2" && s[0] != '|':
		f.Type = Type{Brain, size, bigEndian}
	case strings.Contains("SaV", kind[:1]):
		f.Type = Type{Kind: Bytes, Size: size}
	case kind[0] == 'U':
		size *= ucsBytes
		f.Type = Type{UCS, size, s[0] == '>' || s[0] != '<' && hostBigEndian}
	case !strings.Contains(npyPayloads, " "+kind+" "):
		return 0, fmt.Errorf("unknown dtype %.99q", s)
	}
	if f.Type.Size == 0 {
		f.Why = "dtype " + pyRepr(s, false) +
			" has no order here: use u1 to u8, i1 to i8, f2 to f8, S, U or V, or give Record.Keys OFFSET:TYPE"
	}
	return size, nil
}

// inColumns is the type of the rows of an array of two dimensions.
func (d dtype) inColumns(n int64) (dtype, error) {
	switch {
	case !d.isScalar():
		return d, errors.New("an array of two dimensions cannot be sorted by fields: save it with one dimension, " +
			"or its numbers without names")
	case n < 1 || n > int64(MaxRecordSize/max(d.size, 1)):
		return d, fmt.Errorf("a row has %d columns of %d bytes: a record has from 1 to %d bytes", n, d.size, MaxRecordSize)
	}
	d.columns, d.size = int(n), d.size*int(n)
	return d, nil
}

// countedDtype is a dtype, as Python writes it, with one more field.
func countedDtype(dtype string, columns int) (string, error) {
	const count = "('count', '<u8')]"
	if columns > 0 {
		return fmt.Sprintf("[('value', %s, (%d,)), %s", dtype, columns, count), nil
	}
	descr, err := parseLiteral(dtype)
	if err != nil {
		return "", err
	}
	fields, structured := descr.([]any)
	if !structured {
		return "[('value', " + dtype + "), " + count, nil
	}
	for _, item := range fields {
		if entry, ok := item.([]any); ok && len(entry) > 0 && entry[0] == "count" {
			return "", errors.New("the array has a field count already: rename it")
		}
	}
	return strings.TrimSuffix(dtype, "]") + ", " + count, nil
}

// fieldName is a name, or the second of a (title, name) pair.
func fieldName(v any) (string, error) {
	if pair, ok := v.([]any); ok && len(pair) == 2 {
		v = pair[1]
	}
	name, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("field name %.99s is not a string", pyRepr(v, true))
	}
	return name, nil
}

// elements is the product of a shape, which is a number or a tuple of numbers.
func elements(shape any) (int, error) {
	dims, ok := shape.([]any)
	if !ok {
		dims = []any{shape}
	}
	n := int64(1)
	for _, v := range dims {
		number, _ := v.(json.Number)
		dim, err := number.Int64()
		if err != nil || dim < 0 || dim > MaxRecordSize {
			return 0, fmt.Errorf("shape %.99s is not possible", pyRepr(shape, true))
		}
		if n *= dim; n > MaxRecordSize {
			return 0, fmt.Errorf("shape %.99s is too large", pyRepr(shape, true))
		}
	}
	return int(n), nil
}

// npyLayout resolves the keys against the fields of the array.
func (s Spec) npyLayout(d dtype) (Layout, error) {
	if s.Type != "" {
		t, err := ParseType(s.Type)
		if err == nil && d.isScalar() && strings.HasPrefix(d.text, "'|V") && d.fields[0].Type.Size == t.Size {
			d.fields[0].Type = t // which a V does not tell
		}
		if err != nil || !d.isScalar() || d.fields[0].Type != t {
			return Layout{}, fmt.Errorf("the array has dtype %.99s, not Record.Type %s: leave Record.Type out",
				d.text, s.Type)
		}
	}
	switch {
	case d.columns > 0:
		return columns{d.columns, d.fields[0]}.layout(s, d.size)
	case len(s.Keys) > 0:
		return s.keyedLayout(d.size, d.resolve)
	case !d.isScalar():
		return Layout{}, fmt.Errorf("records have several fields, so give the key as Record.Keys NAME[:desc]; "+
			"the fields are %s", d.names())
	case d.fields[0].Why != "":
		return Layout{}, errors.New(d.fields[0].Why)
	}
	l := Layout{RecordSize: d.size, Key: []Field{d.fields[0].Field}}
	return l, l.Validate()
}

func (d dtype) isScalar() bool { return len(d.fields) == 1 && d.fields[0].Name == "" }

// resolve reads NAME[:desc] or OFFSET:TYPE[:desc]. A name may have colons itself.
func (d dtype) resolve(key string) (Field, error) {
	for _, f := range d.fields {
		rest, ok := strings.CutPrefix(key, f.Name)
		if !ok || f.Name == "" || rest != "" && rest != ":desc" && rest != ":asc" {
			continue
		}
		if f.Why != "" {
			return Field{}, fmt.Errorf("key %q: %s", key, f.Why)
		}
		f.Desc = rest == ":desc"
		return f.Field, nil
	}
	if key != "" && key[0] >= '0' && key[0] <= '9' && strings.Contains(key, ":") {
		return ParseField(key)
	}
	if d.isScalar() {
		return Field{}, fmt.Errorf("key %q: the array of %s has no fields with names: "+
			"leave Record.Keys out, or use OFFSET:TYPE[:desc]", key, d.text)
	}
	return Field{}, fmt.Errorf("key %q: there is no such field; the fields are %s", key, d.names())
}

func (d dtype) names() string { return listed(d.fields, func(f ArrayField) string { return f.Name }) }

// listed are the names of all, the first dozen of them.
func listed[T any](all []T, name func(T) string) string {
	var names []string
	for _, item := range all[:min(len(all), 12)] {
		names = append(names, fmt.Sprintf("%.99s", name(item)))
	}
	if more := len(all) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// npyDescr is the dtype of a type of ours.
func npyDescr(t Type) (string, error) {
	name, order := t.String()[:1]+strconv.Itoa(t.Size), "<"
	switch t.Kind {
	case Bytes:
		return "|S" + strconv.Itoa(t.Size), nil
	case UCS:
		name = "U" + strconv.Itoa(t.Size/ucsBytes)
	case Brain:
		name = "V2"
	}
	if _, ok := npyNumbers[name]; !ok && t.Kind != UCS && t.Kind != Brain {
		return "", fmt.Errorf("NumPy has no type of %d bits for Record.Type %v: use another format", 8*t.Size, t)
	}
	switch {
	case t.Size == 1:
		order = "|"
	case t.BigEndian:
		order = ">"
	}
	return order + name, nil
}
