package format

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/extsort/extsort/internal/option"
)

// Aggregates describes how the records with equal keys are combined into one record. Each text is
// FIELD, or NAME=FIELD, where FIELD is OFFSET:TYPE or the name of a field.
//
// The result replaces the field in the record that is kept. With NAME=, the record keeps its field,
// and the result is appended to the record. Results are appended in the order of the fields of this
// struct, and for each of them in the order of its texts. An appended sum can have a type of its
// own: NAME=FIELD:TYPE.
type Aggregates struct {
	Sum   []string // the total of the values
	Min   []string // the smallest value, in the sort order of its type
	Max   []string // the largest value, in the sort order of its type
	First []string // the value of the first record, in the order of the input
	Last  []string // the value of the last record, in the order of the input
	Count bool     // append the number of records
}

// A foldKind is the way in which the values of a field are combined.
type foldKind int

const (
	foldSum foldKind = iota
	foldMin
	foldMax
	foldFirst
	foldLast
	foldCount
)

// optionOf names the option of each kind in messages.
var optionOf = map[foldKind]option.Field{
	foldSum:   option.Sum,
	foldMin:   option.Min,
	foldMax:   option.Max,
	foldFirst: option.First,
	foldLast:  option.Last,
}

// aggregate is one parsed text of Aggregates.
type aggregate struct {
	kind   foldKind
	text   string // as the user wrote it
	name   string // name of the appended result; "": the result replaces the field
	field  string // OFFSET:TYPE or the name of a field
	wide   string // the type of an appended sum; "": that of the field
	source Column // the field
	result Column // the place and the type of the result
}

// errorf returns an error about the aggregate.
func (a *aggregate) errorf(format string, args ...any) error {
	return option.Errorf(optionOf[a.kind], " %s: %s", a.text, fmt.Sprintf(format, args...))
}

// IsEmpty reports whether no field is combined. Count does not matter.
func (a Aggregates) IsEmpty() bool {
	return len(a.Sum)+len(a.Min)+len(a.Max)+len(a.First)+len(a.Last) == 0
}

// Validate returns the errors that do not depend on the fields of the records.
func (a Aggregates) Validate() error {
	_, err := a.parse()
	return err
}

// parse parses all texts, in the order of the appended results.
func (a Aggregates) parse() ([]*aggregate, error) {
	var all []*aggregate
	var faults []error
	for kind, texts := range [][]string{a.Sum, a.Min, a.Max, a.First, a.Last} {
		for _, text := range texts {
			one, err := parseAggregate(foldKind(kind), text)
			if err != nil {
				faults = append(faults, err)
				continue
			}
			all = append(all, one)
		}
	}
	return all, errors.Join(faults...)
}

// parseAggregate parses [NAME=]FIELD[:TYPE].
func parseAggregate(kind foldKind, text string) (*aggregate, error) {
	a := &aggregate{kind: kind, text: text}
	rest := text
	if name, after, ok := strings.Cut(text, "="); ok {
		if name == "" || strings.ContainsAny(name, ":\"' ,") || isDigits(name[:1]) {
			return nil, a.errorf("a name begins with a letter and contains no : or quote: want NAME=OFFSET:TYPE")
		}
		a.name = name
		rest = after
	}

	words := strings.Split(countForm().ReplaceAllString(rest, "$1$2"), ":")
	count := 1 // number of words in the field
	if isDigits(words[0]) && len(words) > 1 {
		words[1] = strings.Join(words[1:], ":")
		words[1] = countForm().ReplaceAllString(words[1], "$1$2")
		words = append(words[:1], strings.Split(words[1], ":")...)
		count = 2
	}
	a.field = strings.Join(words[:count], ":")
	switch more := words[count:]; {
	case rest == "" || slices.Contains(words, ""):
		return nil, a.errorf("want OFFSET:TYPE or the name of a field, for example 8:u32")
	case len(more) > 1:
		return nil, a.errorf("want [NAME=]OFFSET:TYPE, or NAME=OFFSET:TYPE:TYPE for a wider sum")
	case len(more) == 0:
		return a, nil
	case kind != foldSum:
		return nil, a.errorf("only a sum can have another type than its field: leave :%s out", more[0])
	case a.name == "":
		return nil, a.errorf("a sum of another type does not fit its field: %v NAME=%s appends it", option.Sum, text)
	default:
		a.wide = more[0]
		return a, nil
	}
}

// resolve finds the field among the columns, and the type of the result.
func (a *aggregate) resolve(columns []Column, recordSize int) error {
	if err := a.findField(columns); err != nil {
		return err
	}
	source := a.source
	if source.Offset > recordSize-source.Type.Size {
		return a.errorf("needs %d bytes from byte %d on, but a record has only bytes 0 to %d",
			source.Type.Size, source.Offset, recordSize-1)
	}
	a.result = source
	if a.wide != "" {
		t, err := namedType(a.wide)
		if err != nil {
			return a.errorf("%v", err)
		}
		a.result.Type = t
		a.result.dtype = ""
	}
	if source.unordered != "" && a.kind.needsValues() {
		return a.errorf("%s", a.unorderedText())
	}
	if a.kind == foldSum {
		return a.checkSum()
	}
	return nil
}

// needsValues reports whether the values are compared or added. Otherwise their bytes are copied.
func (k foldKind) needsValues() bool {
	return k == foldSum || k == foldMin || k == foldMax
}

// unorderedText says why the values of the field cannot be compared, and what to do instead.
func (a *aggregate) unorderedText() string {
	remedy := optionOf[a.kind].String() + " "
	if a.name != "" {
		remedy += a.name + "="
	}
	return strings.ReplaceAll(a.source.unordered, option.Keys.String()+" ", remedy)
}

func (a *aggregate) findField(columns []Column) error {
	offset, typeName, ok := strings.Cut(a.field, ":")
	if ok {
		field, err := ParseField(offset + ":" + "u8")
		if err != nil {
			return a.errorf("offset %q is not a number of bytes", offset)
		}
		t, err := namedType(typeName)
		if err != nil {
			return a.errorf("%v", err)
		}
		a.source = Column{Offset: field.Offset, Type: t}
		return nil
	}
	for _, c := range columns {
		if c.Name == a.field {
			a.source = c
			return nil
		}
	}
	return a.errorf("no such field: want OFFSET:TYPE, or one of %s", joinNames(columns, func(c Column) string {
		return c.Name
	}))
}

// namedType returns a type by any of its names.
func namedType(name string) (Type, error) {
	if t, ok := NamedType(name); ok {
		return t, nil
	}
	_, err := ParseType(name)
	return Type{}, err
}

// isInteger reports whether values of the type can be added as integers.
func (t Type) isInteger() bool {
	return (t.Kind == Unsigned || t.Kind == Signed) && t.Form == FormDefault
}

// checkSum returns an error if values of the type cannot be added.
func (a *aggregate) checkSum() error {
	from := a.source.Type
	to := a.result.Type
	switch {
	case a.source.isNumPy("b1") && a.wide == "":
		return a.errorf("a sum does not fit a bool: %v %s=%s:u64 appends it",
			option.Sum, cmp.Or(a.name, "NAME"), a.field)
	case a.source.isNumPy("M8") || from.isTime():
		return a.errorf("dates cannot be added: use %v or %v", option.Min, option.Max)
	case a.source.isNumPy("m8") && a.wide != "":
		return a.errorf("a sum of durations can be NaT, which %s cannot hold: leave :%[1]s out", a.wide)
	case from.isInteger():
		return a.checkIntegerSum(to)
	case from.isShortFloat() || from.isSumFloat():
		return a.checkFloatSum(from, to)
	}
	return a.errorf("values of type %v cannot be added: use an integer, f32 or f64", from)
}

func (a *aggregate) checkIntegerSum(to Type) error {
	if to.isInteger() {
		return nil
	}
	return a.errorf("the sum of integers is an integer, not %v", to)
}

func (a *aggregate) checkFloatSum(from, to Type) error {
	switch {
	case to.isSumFloat():
		return nil
	case from.isShortFloat():
		return a.errorf("a sum of %v is too coarse: %v NAME=%s:f32 appends one of f32", from, option.Sum, a.field)
	}
	return a.errorf("the sum of floats is f32 or f64, not %v", to)
}

// isSumFloat reports whether the type is a float that is precise enough for sums.
func (t Type) isSumFloat() bool { return t.Kind == Float && t.Size >= 4 }

// isShortFloat reports whether the type is a float of 16 bits.
func (t Type) isShortFloat() bool { return t.Kind == Brain || t.Kind == Float && t.Size < 4 }

// An Aggregation combines the records with equal keys into one record. NewAggregation makes it from
// Aggregates for records of one layout.
//
// The result of combining records is a record of Size bytes. If CombinesRuns, results can be combined
// like records, so a sort can combine records early, while they are in memory.
type Aggregation struct {
	keyer    *Keyer // keyer of the records to combine
	keepLast bool
	size     int // size of a result in bytes
	steps    []foldStep
	appended []Column
}

// NewAggregation returns the Aggregation that a describes, for records with the Keyer k. header
// names their fields. The result keeps the first record of each key or, with keepLast, the last
// one.
func NewAggregation(a Aggregates, header *Header, k *Keyer, keepLast bool) (*Aggregation, error) {
	all, err := a.parse()
	if err != nil {
		return nil, err
	}
	layout := k.Layout()
	var faults []error
	var columns []Column
	if len(all) > 0 {
		columns = header.Columns()
	}
	for _, one := range all {
		if err := one.resolve(columns, layout.RecordSize); err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if err := checkPlaces(all, columns, layout, a.Count); err != nil {
		return nil, err
	}

	g := &Aggregation{keyer: k, keepLast: keepLast, size: layout.RecordSize}
	for _, one := range all {
		if one.name != "" {
			one.result.Name = one.name
			g.appendColumn(&one.result)
		}
		g.steps = append(g.steps, newFoldStep(one, layout))
	}
	if a.Count {
		count := Column{Name: countName, Type: Type{Kind: Unsigned, Size: countBytes}}
		g.appendColumn(&count)
		g.steps = append(g.steps, foldStep{kind: foldCount, to: count})
	}
	if g.size > MaxRecordSize {
		return nil, fmt.Errorf("a record with its results has %d bytes: the maximum is %d", g.size, MaxRecordSize)
	}
	return g, nil
}

// appendColumn places a column at the end of the result.
func (g *Aggregation) appendColumn(c *Column) {
	c.Offset = g.size
	g.size += c.Type.Size
	g.appended = append(g.appended, *c)
}

// checkPlaces returns an error if results replace the same bytes or a part of the key, or if names
// of appended results are not unique.
func checkPlaces(all []*aggregate, columns []Column, layout Layout, count bool) error {
	overlap := func(a, b Column) bool { return a.Offset < b.end() && b.Offset < a.end() }
	names := map[string]bool{}
	for _, c := range columns {
		names[c.Name] = true
	}
	if count {
		names[countName] = true
	}
	for i, one := range all {
		if one.name != "" {
			if names[one.name] {
				return one.errorf("there is already a field %s: choose another name", one.name)
			}
			names[one.name] = true
			continue
		}
		for _, f := range layout.Key {
			if overlap(one.source, Column{Offset: f.Offset, Type: f.Type}) {
				return one.errorf("is a part of the key, which must stay: %v NAME=%s appends the result",
					optionOf[one.kind], one.text)
			}
		}
		for _, other := range all[:i] {
			if other.name == "" && overlap(one.source, other.source) {
				return one.errorf("replaces the same bytes as %v %s: %v NAME=%s appends the result",
					optionOf[other.kind], other.text, optionOf[one.kind], one.text)
			}
		}
	}
	return nil
}

// Size returns the size of a result in bytes.
func (g *Aggregation) Size() int { return g.size }

// Keyer returns the Keyer of the records to combine.
func (g *Aggregation) Keyer() *Keyer { return g.keyer }

// Appended returns the columns after the bytes of a record.
func (g *Aggregation) Appended() []Column { return g.appended }

// String describes the combined fields by offset and type, not by name, for example "Options.Sum
// 4:i32 to 4:i32". Without combined fields, it returns "none".
func (g *Aggregation) String() string {
	if g == nil || !g.CombinesFields() {
		return "none"
	}
	var steps []string
	for _, s := range g.steps {
		if s.kind != foldCount {
			steps = append(steps, fmt.Sprintf("%s %d:%s to %d:%s",
				optionOf[s.kind], s.from.Offset, s.from.Type, s.to.Offset, s.to.Type))
		}
	}
	return strings.Join(steps, ", ")
}

// CombinesFields reports whether fields are combined, in addition to keeping and counting records.
func (g *Aggregation) CombinesFields() bool {
	return slices.ContainsFunc(g.steps, func(s foldStep) bool { return s.kind != foldCount })
}

// CombinesRuns reports whether results can replace records in sorted runs. This requires that
// results are not longer than records and can be combined again. Without appended results, each sum
// has the type of its field, so the value of a single record always fits.
func (g *Aggregation) CombinesRuns() bool {
	return g.InAnyGrouping() && len(g.appended) == 0
}

// KeepsSingles reports whether the result of a single record is the record itself.
func (g *Aggregation) KeepsSingles() bool { return len(g.appended) == 0 }

// hasStep reports whether a field is combined in a way.
func (g *Aggregation) hasStep(kind foldKind) bool {
	return slices.ContainsFunc(g.steps, func(s foldStep) bool { return s.kind == kind })
}

// InAnyGrouping reports whether the result is the same if neighboring records are combined first.
// This is false for sums of floats.
func (g *Aggregation) InAnyGrouping() bool {
	return !slices.ContainsFunc(g.steps, func(s foldStep) bool { return s.isFloatSum() })
}
