package format

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// dtype is a NumPy data type: a scalar, or a structure of named fields.
//
//	dtype               key type
//	u1 … u8, i1 … i8    unsigned and signed numbers
//	f4, f8              floats in totalOrder
//	b1                  u8: False before True
//	m8, M8              i64: NaT, the least number, comes first
//	SN, VN              N bytes, as memcmp; an S is padded by zeros, so this is NumPy's order
//	f2, f16, c, U       payload only: they have no key type
//	O                   an error: the file holds pickled objects, not records
type dtype struct {
	text   string // as Python writes it
	size   int    // bytes
	scalar npyField
	fields []npyField // of a structure, nested ones by dotted names; padding has none
}

// npyField is a place in the record. A field that cannot be a key has no Type and says why.
type npyField struct {
	name   string
	offset int
	typ    Type
	why    string
}

// maxNpyFields bounds the work that a header can cause.
const maxNpyFields = 1 << 14

func parseDtype(descr any) (dtype, error) {
	d := dtype{text: pyRepr(descr)}
	var err error
	switch descr := descr.(type) {
	case string:
		d.scalar, d.size, err = parseScalar(descr)
	case []any:
		d.size, err = d.addFields("", 0, descr)
	default:
		err = fmt.Errorf("'descr' %s is neither a type nor a list of fields", d.text)
	}
	if err == nil && (d.size < 1 || d.size > MaxRecordSize) {
		err = fmt.Errorf("dtype %s has %d bytes: a record has from 1 to %d", d.text, d.size, MaxRecordSize)
	}
	return d, err
}

// parseScalar reads a type like '<u8' and gives its size in bytes.
func parseScalar(s string) (npyField, int, error) {
	if len(s) < 2 {
		return npyField{}, 0, fmt.Errorf("unknown dtype %q", s)
	}
	order, kind := s[0], s[1]
	if !strings.ContainsRune("<>=|", rune(order)) {
		return npyField{}, 0, fmt.Errorf("dtype %q has no byte order", s)
	}
	if kind == 'O' {
		return npyField{}, 0, fmt.Errorf("dtype %q holds Python objects, which are no fixed-size records: "+
			"convert the array to numbers or bytes", s)
	}
	digits, _, _ := strings.Cut(s[2:], "[") // M8[ns]
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > MaxRecordSize {
		return npyField{}, 0, fmt.Errorf("unknown dtype %q", s)
	}
	bigEndian := n > 1 && (order == '>' || order != '<' && hostBigEndian)
	f, size := scalarField(kind, n, bigEndian)
	if size < 0 {
		return npyField{}, 0, fmt.Errorf("unknown dtype %q", s)
	}
	if f.typ.Size == 0 {
		f.why = "dtype " + pyRepr(s) + " has no order here: use u1 to u8, i1 to i8, f4, f8, S or V, or give -k OFFSET:TYPE"
	}
	return f, size, nil
}

// scalarField is the field of a kind, and its size: -1 if there is no such type.
func scalarField(kind byte, n int, bigEndian bool) (f npyField, size int) {
	integer := n == 1 || n == 2 || n == 4 || n == 8
	switch {
	case kind == 'u' && integer, kind == 'b' && n == 1:
		f.typ = Type{Unsigned, n, bigEndian}
	case kind == 'i' && integer, (kind == 'm' || kind == 'M') && n == 8:
		f.typ = Type{Signed, n, bigEndian}
	case kind == 'f' && (n == 4 || n == 8):
		f.typ = Type{Float, n, bigEndian}
	case (kind == 'S' || kind == 'a' || kind == 'V') && n >= 0:
		f.typ = Type{Kind: Bytes, Size: n}
	case kind == 'f' && (n == 2 || n == 12 || n == 16), kind == 'c' && (n == 8 || n == 16 || n == 24 || n == 32):
	case kind == 'U':
		return f, 4 * n
	default:
		return f, -1
	}
	return f, n
}

// addFields adds the fields of a structure that begins at offset, and gives the structure's size.
func (d *dtype) addFields(prefix string, offset int, list []any) (size int, err error) {
	for _, item := range list {
		entry, ok := item.(tuple)
		if !ok || len(entry) < 2 || len(entry) > 3 {
			return 0, fmt.Errorf("field %s is not (name, type) or (name, type, shape)", pyRepr(item))
		}
		name, err := fieldName(entry[0])
		if err != nil {
			return 0, err
		}
		count := 1
		if len(entry) == 3 {
			if count, err = elements(entry[2]); err != nil {
				return 0, fmt.Errorf("field %q: %w", name, err)
			}
		}
		n, err := d.addField(prefix+name, offset+size, entry[1], len(entry) == 3)
		if err != nil {
			return 0, fmt.Errorf("field %q: %w", name, err)
		}
		if size += n * count; size > MaxRecordSize {
			return 0, fmt.Errorf("field %q ends after the largest record, %d bytes", name, MaxRecordSize)
		}
	}
	return size, nil
}

// addField adds one field, or those of a nested structure, and gives the size of one element.
func (d *dtype) addField(name string, offset int, descr any, array bool) (size int, err error) {
	if nested, ok := descr.([]any); ok {
		inner := d
		if array { // its fields are in the record many times
			inner = &dtype{}
			d.fields = append(d.fields, npyField{name: name, why: fmt.Sprintf("field %q is an array", name)})
		}
		return inner.addFields(name+".", offset, nested)
	}
	s, ok := descr.(string)
	if !ok {
		return 0, fmt.Errorf("type %s is neither a name nor a list of fields", pyRepr(descr))
	}
	f, size, err := parseScalar(s)
	if err != nil {
		return 0, err
	}
	f.name, f.offset = name, offset
	if array {
		f.why = fmt.Sprintf("field %q is an array: give the element as -k OFFSET:TYPE", name)
	}
	if len(d.fields) >= maxNpyFields {
		return 0, fmt.Errorf("more than %d fields", maxNpyFields)
	}
	if name != "" && !strings.HasSuffix(name, ".") { // an unnamed field is padding
		d.fields = append(d.fields, f)
	}
	return size, nil
}

// fieldName is a name, or the second of a (title, name) pair.
func fieldName(v any) (string, error) {
	if pair, ok := v.(tuple); ok && len(pair) == 2 {
		v = pair[1]
	}
	name, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("field name %s is not a string", pyRepr(v))
	}
	return name, nil
}

// elements is the product of a shape, which is a number or a tuple of numbers.
func elements(shape any) (int, error) {
	dims, ok := shape.(tuple)
	if !ok {
		dims = tuple{shape}
	}
	n := int64(1)
	for _, v := range dims {
		dim, ok := v.(int64)
		if !ok || dim < 0 || dim > MaxRecordSize {
			return 0, fmt.Errorf("shape %s is not possible", pyRepr(shape))
		}
		if n *= dim; n > MaxRecordSize {
			return 0, fmt.Errorf("shape %s is too large", pyRepr(shape))
		}
	}
	return int(n), nil
}

// npyLayout resolves the keys against the fields of the array.
func (s Spec) npyLayout(d dtype) (Layout, error) {
	if s.Type != "" {
		if t, err := ParseType(s.Type); err != nil || d.fields != nil || d.scalar.typ != t {
			return Layout{}, fmt.Errorf("the array has dtype %s, not -t %s: leave -t out", d.text, s.Type)
		}
	}
	if len(s.Keys) > 0 {
		return s.keyedLayout(d.size, d.resolve)
	}
	f, err := d.onlyKey()
	if err != nil {
		return Layout{}, err
	}
	l := Layout{RecordSize: d.size, Key: []Field{f}}
	return l, l.Validate()
}

func (d dtype) onlyKey() (Field, error) {
	if d.fields != nil {
		return Field{}, fmt.Errorf("records have several fields, so give the key as -k NAME[:desc]; the fields are %s",
			d.names())
	}
	if d.scalar.why != "" {
		return Field{}, errors.New(d.scalar.why)
	}
	return Field{Type: d.scalar.typ}, nil
}

// resolve reads NAME[:desc] or OFFSET:TYPE[:desc]. A name may have colons itself.
func (d dtype) resolve(key string) (Field, error) {
	for _, f := range d.fields {
		rest, ok := strings.CutPrefix(key, f.name)
		if !ok || rest != "" && rest != ":desc" && rest != ":asc" {
			continue
		}
		if f.why != "" {
			return Field{}, fmt.Errorf("key %q: %s", key, f.why)
		}
		return Field{Offset: f.offset, Type: f.typ, Desc: rest == ":desc"}, nil
	}
	if key != "" && key[0] >= '0' && key[0] <= '9' && strings.Contains(key, ":") {
		return ParseField(key)
	}
	if d.fields == nil {
		return Field{}, fmt.Errorf("key %q: the array of %s has no fields with names: "+
			"leave -k out, or use OFFSET:TYPE[:desc]", key, d.text)
	}
	return Field{}, fmt.Errorf("key %q: there is no such field; the fields are %s", key, d.names())
}

// names lists the fields, the first dozen of them.
func (d dtype) names() string {
	var names []string
	for i, f := range d.fields {
		if i == 12 {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(d.fields)-i)
		}
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// npyDescr is the dtype of a type of ours.
func npyDescr(t Type) (string, error) {
	order := "<"
	switch {
	case t.Kind == Bytes && t.Size <= math.MaxInt32:
		return "|S" + strconv.Itoa(t.Size), nil
	case t.Size > 8:
		return "", fmt.Errorf("NumPy has no type of %d bits for -t %v: use another format", 8*t.Size, t)
	case t.Size == 1:
		order = "|"
	case t.BigEndian:
		order = ">"
	}
	return order + "uif"[t.Kind:t.Kind+1] + strconv.Itoa(t.Size), nil
}
