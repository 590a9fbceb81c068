package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/internal/option"
)

// The NumPy data type in a header is a scalar or a structure of named fields.
//
//	dtype               key type
//	u1 … u8, i1 … i8    unsigned and signed numbers
//	f2, f4, f8          floats in totalOrder
//	f12                 f80in96, which exists only on x86
//	f16                 f80in128 if the user says so: on ARM it is an unsupported type
//	<V2, >V2            bf16, as ml_dtypes writes bfloat16: a V with a byte order
//	b1                  u8: False before True
//	m8, M8              i64: NaT, the least number, comes first
//	SN, VN              N bytes, as memcmp; an S is padded with zeros, so this is NumPy's order
//	UN                  N characters by their code points
//	c                   payload only: it has no key type
//	O                   an error: the file contains pickled objects, not records
//
// Names of nested fields are joined with dots. A scalar is a single field without a name, and
// padding is no field. The number of fields and the length of names are limited, and so is the
// work that a header can cause.
const (
	maxNpyFields = 1 << 14
	maxNpyName   = 1 << 10 // in bytes
)

// npyNumbers contains NumPy's number types in little-endian form.
var npyNumbers = func() map[string]Type {
	all := map[string]Type{
		"b1": {Kind: Unsigned, Size: 1},
		"m8": {Kind: Signed, Size: timeBytes},
		"M8": {Kind: Signed, Size: timeBytes},
	}
	for i := range numberTypes {
		if n := &numberTypes[i]; n.npy != "" && n.npy != npyLongDouble {
			all[n.npy] = n.typeOf(false)
		}
	}
	return all
}()

// npyTimes maps NumPy's dates and times to their forms.
var npyTimes = map[string]Form{
	"M8[s]": FormSeconds, "M8[ms]": FormMillis, "M8[us]": FormMicros, "M8[ns]": FormNanos,
}

// npyLongDouble is an f80in128 if it was written on x86, and an IEEE 128-bit float if it was
// written on ARM. Only the user knows which.
const npyLongDouble = "f16"

const npyPayloads = " f16 c8 c16 c24 c32 "

func parseDtype(descr any) (a *Array, err error) {
	a = &Array{DType: pyRepr(descr, false)}
	a.RecordSize, err = a.addFields("", 0, descr)
	if err == nil && (a.RecordSize < 1 || a.RecordSize > MaxRecordSize) {
		err = fmt.Errorf(
			"dtype %.99s has %d bytes: a record has from 1 to %d", a.DType, a.RecordSize,
			MaxRecordSize,
		)
	}
	return a, err
}

// addFields adds the fields that descr describes, at an offset in the record, and returns their
// size in bytes.
func (a *Array) addFields(name string, offset int, descr any) (size int, err error) {
	switch descr := descr.(type) {
	case string:
		f := ArrayField{Name: name, Field: Field{Offset: offset}, dtype: pyRepr(descr, false)}
		size, err = f.parse(descr)
		f.bytes = size
		a.Fields = append(a.Fields, f)
		if len(a.Fields) > maxNpyFields || len(name) > maxNpyName {
			return 0, fmt.Errorf(
				"more than %d fields, or a name of more than %d bytes", maxNpyFields,
				maxNpyName,
			)
		}
		return size, err
	case []any:
		for _, item := range descr {
			n, err := a.addField(name, offset+size, item)
			if err != nil {
				return 0, err
			}
			if size += n; size > MaxRecordSize {
				return 0, fmt.Errorf(
					"field %.99s ends beyond the maximum record size, %d bytes", pyRepr(item, true),
					MaxRecordSize,
				)
			}
		}

		return size, nil
	}

	return 0, fmt.Errorf(
		"%.99s is neither a type nor a list of fields", pyRepr(descr, false),
	)
}

// addField adds a field of a structure: (name, type) or (name, type, shape).
func (a *Array) addField(
	structure string,
	offset int,
	item any,
) (size int, err error) {
	entry, ok := item.([]any)
	if !ok || len(entry) < 2 || len(entry) > 3 {
		return 0, fmt.Errorf(
			"field %.99s is not (name, type) or (name, type, shape)", pyRepr(item, true),
		)
	}
	name, err := fieldName(entry[0])
	if err != nil {
		return 0, err
	}
	full := strings.TrimPrefix(structure+"."+name, ".")
	before := len(a.Fields)
	count := 1
	size, err = a.addFields(full, offset, entry[1])

	if err == nil &&
		len(entry) == 3 { // its elements are repeated in the record
		count, err = elementCount(entry[2])
		why := fmt.Sprintf(
			"field %.99q is an array: give the element as %v OFFSET:TYPE", name, option.Keys,
		)
		inside := a.Fields[before:]
		if len(inside) == 1 &&
			inside[0].Why == "" {
			why += fmt.Sprintf(
				", the first of which is %d:%v", offset, inside[0].Type,
			)
		}
		a.Fields = append(a.Fields[:before], ArrayField{
			Name:  full,
			Field: Field{Offset: offset},
			Why:   why,
			dtype: pyRepr(entry[1], false) + ", " + pyRepr(entry[2], true),
			bytes: size * count,
		})
	}

	if err != nil {
		return 0, fmt.Errorf("field %.99q: %w", name, err)
	}
	if name == "" { // padding
		a.Fields = a.Fields[:before]
	}
	return size * count, nil
}

// parse parses a type such as '<u8' and returns its size in bytes.
func (f *ArrayField) parse(s string) (size int, err error) {
	if s == "" || !strings.Contains("<>=|", s[:1]) {
		return 0, fmt.Errorf("dtype %.99q has no byte order", s)
	}
	kind, _, _ := strings.Cut(s[1:], "[") // as in M8[ns]
	if strings.HasPrefix(kind, "O") {
		return 0, fmt.Errorf("dtype %.99q holds Python objects, which are not fixed-size records: "+
			"convert the array to numbers or bytes", s)
	}
	size, err = strconv.Atoi(kind[min(1, len(kind)):])
	if err != nil || size < 0 || size > MaxRecordSize {
		return 0, fmt.Errorf("unknown dtype %.99q", s)
	}
	bigEndian := s[0] == '>' || s[0] != '<' && hostBigEndian
	number, isNumber := npyNumbers[kind]
	switch {
	case isNumber:
		number.BigEndian = bigEndian && size > 1
		f.Type = number
		f.NaT = strings.Contains("mM", kind[:1])
		f.form = npyTimes[strings.TrimLeft(s, "<>=|")]
	case kind == "V2" && s[0] != '|':
		f.Type = Type{Kind: Brain, Size: size, BigEndian: bigEndian}
	case strings.Contains("SaV", kind[:1]):
		f.Type = Type{Kind: Bytes, Size: size}
	case kind[0] == 'U':
		size *= ucsBytes
		f.Type = Type{Kind: UCS, Size: size, BigEndian: bigEndian}
	case !strings.Contains(npyPayloads, " "+kind+" "):
		return 0, fmt.Errorf("unknown dtype %.99q", s)
	}
	f.Why = f.unsortableText(s, kind, Type{Kind: Extended, Size: size, BigEndian: bigEndian})
	return size, nil
}

// unsortableText says why the field cannot be a key and what to do instead, or "" if it can be one. longDouble is the
// type of a long double with the size and byte order of the dtype.
func (f *ArrayField) unsortableText(dtype, kind string, longDouble Type) string {
	switch {
	case kind == npyLongDouble:
		return fmt.Sprintf(
			"dtype %s differs between processors: if x86 wrote the array, give %v %v or %v OFFSET:%[3]v",
			pyRepr(dtype, false), option.Type, longDouble, option.Keys,
		)
	case f.Type.Size == 0:
		return fmt.Sprintf(
			"dtype %s has no order here: use u1 to u8, i1 to i8, f2 to f8, S, U or V, or give %v OFFSET:TYPE",
			pyRepr(dtype, false), option.Keys,
		)
	}
	return ""
}

// inColumns makes the rows of a two-dimensional array its records.
func (a *Array) inColumns(n int64) error {
	switch {
	case !a.isScalar():
		return errors.New(
			"an array of two dimensions cannot be sorted by fields: save it with one dimension, " +
				"or its numbers without names",
		)
	case n < 1 || n > int64(MaxRecordSize/max(a.RecordSize, 1)):
		return fmt.Errorf(
			"a row has %d columns of %d bytes: a record has from 1 to %d bytes", n,
			a.RecordSize, MaxRecordSize,
		)
	}

	a.Columns = int(n)
	a.RecordSize = a.RecordSize * int(n)
	return nil
}

// appendedDtype returns a dtype, in Python's notation, with additional fields.
func appendedDtype(dtype string, columns int, added []Column) (string, error) {
	var entries []string
	for _, c := range added {
		fieldType := c.dtype
		if fieldType == "" {
			descr, err := npyDescr(c.Type)
			if err != nil {
				return "", err
			}
			fieldType = pyRepr(descr, true)
		}
		entries = append(entries, fmt.Sprintf("(%s, %s)", pyRepr(c.Name, true), fieldType))
	}
	rest := strings.Join(entries, ", ") + "]"
	descr, err := parseLiteral(dtype)
	if err != nil {
		return "", err
	}
	fields, structured := descr.([]any)
	if !structured {
		fields = []any{[]any{"value"}}
	}
	for _, item := range fields {
		entry, ok := item.([]any)
		isTaken := func(c Column) bool {
			if !ok || len(entry) == 0 {
				return false
			}
			name, err := fieldName(entry[0])
			return err == nil && name == c.Name
		}
		if i := slices.IndexFunc(added, isTaken); i >= 0 {
			return "", fmt.Errorf("the array already has a field named %s: rename it", added[i].Name)
		}
	}

	switch {
	case columns > 0:
		return fmt.Sprintf("[('value', %s, (%d,)), %s", dtype, columns, rest), nil
	case !structured:
		return "[('value', " + dtype + "), " + rest, nil
	}
	return strings.TrimSuffix(dtype, "]") + ", " + rest, nil
}

// fieldName returns a name, or the second item of a (title, name) pair.
func fieldName(v any) (string, error) {
	if pair, ok := v.([]any); ok && len(pair) == 2 {
		v = pair[1]
	}
	name, ok := v.(string)
	if !ok {
		return "", fmt.Errorf(
			"field name %.99s is not a string", pyRepr(v, true),
		)
	}
	return name, nil
}

// elementCount returns the product of a shape, which is a number or a tuple of numbers.
func elementCount(shape any) (int, error) {
	dims, ok := shape.([]any)
	if !ok {
		dims = []any{shape}
	}
	n := int64(1)
	for _, v := range dims {
		number, _ := v.(json.Number)
		dim, err := number.Int64()
		if err != nil || dim < 0 || dim > MaxRecordSize {
			return 0, fmt.Errorf(
				"shape %.99s is not possible", pyRepr(shape, true),
			)
		}
		if n *= dim; n > MaxRecordSize {
			return 0, fmt.Errorf(
				"shape %.99s is too large", pyRepr(shape, true),
			)
		}
	}

	return int(n), nil
}

// npyLayout resolves the keys against the fields of the array.
func (s Spec) npyLayout(a *Array) (Layout, error) {
	if s.Type != "" {
		t, err := ParseType(s.Type)
		if err == nil && a.isScalar() && a.mayHaveType(t) {
			a.Fields[0].Type = t
			a.Fields[0].Why = "" // the dtype does not determine the type
		}
		if err != nil || !a.isScalar() || a.Fields[0].Type != t {
			return Layout{}, fmt.Errorf(
				"the array has dtype %.99s, not %v %s: leave %v out", a.DType, option.Type,
				s.Type, option.Type,
			)
		}
	}

	switch {
	case a.Columns > 0:
		return a.columnLayout(s)
	case len(s.Keys) > 0:
		return s.keyedLayout(a.RecordSize, a.parseKey)
	case !a.isScalar():
		return Layout{}, fmt.Errorf(
			"records have several fields, so give the key as %v NAME[:desc]; the "+
				"fields are %s",
			option.Keys, a.names(),
		)
	case a.Fields[0].Why != "":
		return Layout{}, errors.New(a.Fields[0].Why)
	}

	l := Layout{RecordSize: a.RecordSize, Key: []Field{a.Fields[0].Field}}
	return l, l.Validate()
}

// mayHaveType reports whether the values of an array without fields may have a type that its dtype
// leaves open: a V, or f16.
func (a *Array) mayHaveType(t Type) bool {
	if strings.HasPrefix(a.DType, "'|V") {
		return a.Fields[0].Type.Size == t.Size
	}
	descr, err := npyDescr(t)
	return err == nil && strings.HasSuffix(descr, npyLongDouble) &&
		a.DType == pyRepr(descr, false)
}

func (a *Array) isScalar() bool {
	return len(a.Fields) == 1 && a.Fields[0].Name == ""
}

// parseKey parses NAME[:desc] or OFFSET:TYPE[:desc]. A name may contain colons.
func (a *Array) parseKey(key string) (Field, error) {
	for _, f := range a.Fields {
		rest, ok := strings.CutPrefix(key, f.Name)
		if !ok || f.Name == "" ||
			rest != "" && rest != ":desc" && rest != ":asc" {
			continue
		}
		if f.Why != "" {
			return Field{}, fmt.Errorf("key %q: %s", key, f.Why)
		}
		f.Desc = rest == ":desc"
		return f.Field, nil
	}

	if key != "" && key[0] >= '0' && key[0] <= '9' &&
		strings.Contains(key, ":") {
		return ParseField(key)
	}
	if a.isScalar() {
		return Field{}, fmt.Errorf(
			"key %q: the array of %s has no fields with names: leave %v out, or use "+
				"OFFSET:TYPE[:desc]",
			key, a.DType, option.Keys,
		)
	}
	if strings.Contains(key, ",") {
		return Field{}, fmt.Errorf(
			"key %q: give each field its own %v NAME; the fields are %s", key,
			option.Keys, a.names(),
		)
	}
	return Field{}, fmt.Errorf(
		"key %q: no such field; the fields are %s", key, a.names(),
	)
}

func (a *Array) names() string {
	return joinNames(a.Fields, func(f ArrayField) string { return f.Name })
}

// joinNames joins the names of all elements, but at most a dozen.
func joinNames[T any](all []T, name func(T) string) string {
	var names []string
	for _, item := range all[:min(len(all), 12)] {
		names = append(names, fmt.Sprintf("%.99s", name(item)))
	}
	more := len(all) - len(names)
	if more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// npyDescr returns the dtype of a type.
func npyDescr(t Type) (string, error) {
	order := "<"
	name := ""
	switch n := t.number(); {
	case t.IsDecimal():
		return "", fmt.Errorf(
			"NumPy has no type for %v %v: use another format", option.Type, t,
		)
	case t.Kind == Bytes:
		return "|S" + strconv.Itoa(t.Size), nil
	case t.Kind == UCS:
		name = "U" + strconv.Itoa(t.Size/ucsBytes)
	case t.Kind == Brain:
		name = "V2"
	case n == nil || n.npy == "":
		return "", fmt.Errorf(
			"NumPy has no type of %d bits for %v %v: use another format", 8*t.Size,
			option.Type, t,
		)
	case t.isTime():
		name = "M8[" + strings.TrimPrefix(
			timeTypes[t.Form-FormSeconds].name, "time_",
		) + "]"
	default:
		name = n.npy
	}

	switch {
	case t.Size == 1:
		order = "|"
	case t.BigEndian:
		order = ">"
	}

	return order + name, nil
}
