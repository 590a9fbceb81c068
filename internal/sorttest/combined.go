package sorttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/extsort/extsort/format"
)

// A CombinedField is a field whose values are combined in all records with equal keys.
type CombinedField struct {
	How   string // sum, min, max, first or last
	Name  string // name of the appended result; "": the result replaces the field
	Field format.Field
	Sum   format.Type // type of the result of a sum
}

// String returns the field in the notation of the command.
func (c CombinedField) String() string {
	text := fmt.Sprintf("%d:%v", c.Field.Offset, c.Field.Type)
	if c.Name != "" {
		text = c.Name + "=" + text
	}
	if c.How == "sum" && c.Sum != c.Field.Type {
		text += ":" + c.Sum.String()
	}
	return text
}

// appendedBytes returns the size of a written record minus the size of a sorted one.
func (s Selection) appendedBytes() int {
	n := 0
	for _, c := range s.Combined {
		switch {
		case c.Name == "":
		case c.How == "sum":
			n += c.Sum.Size
		default:
			n += c.Field.Type.Size
		}
	}
	if s.Count {
		n += countBytes
	}
	return n
}

// combinedFields returns the fields that the setting aggregate combines. They depend on the size of
// a record and on the bytes outside its key.
func combinedFields(s Settings) ([]CombinedField, error) {
	if !Is(s, "aggregate") {
		return nil, nil
	}
	spec, _, err := Spec(s)
	if err != nil {
		return nil, err
	}
	header, err := spec.NewHeader()
	if err != nil {
		return nil, err
	}
	layout := header.Layout()
	switch s["aggregate"] {
	case "choice":
		return choices(layout), nil
	case "replace":
		return slices.DeleteFunc(choices(layout), func(c CombinedField) bool { return c.Name != "" }), nil
	case "sum":
		return []CombinedField{
			appendedSum("total", 0, "u8", "u64"),
			appendedSum("signed", 0, "i8", "i32be"),
			appendedSum("end", layout.RecordSize-1, "u8", "i128"),
		}, nil
	case "float":
		return floats(layout), nil
	case "types":
		return numbers(layout), nil
	}
	return nil, fmt.Errorf("there is no aggregate=%s", s["aggregate"])
}

func appendedSum(name string, offset int, typ, sum string) CombinedField {
	return CombinedField{
		How:   "sum",
		Name:  name,
		Field: format.Field{Offset: offset, Type: typeOf(typ)},
		Sum:   typeOf(sum),
	}
}

func typeOf(name string) format.Type {
	t, err := format.ParseType(name)
	if err != nil {
		panic(err)
	}
	return t
}

// choices returns fields that combine the bytes outside the key by min, max, first and last in
// turn. It also appends a result of each kind for the last byte.
func choices(layout format.Layout) (all []CombinedField) {
	ways := []string{"min", "max", "first", "last"}
	for at := range layout.RecordSize {
		inKey := func(f format.Field) bool { return f.Offset <= at && at < f.Offset+f.Type.Size }
		if !slices.ContainsFunc(layout.Key, inKey) {
			name := []string{"u8", "i8"}[at%2]
			all = append(all, CombinedField{How: ways[at%4], Field: format.Field{Offset: at, Type: typeOf(name)}})
		}
	}
	for _, how := range ways {
		last := format.Field{Offset: layout.RecordSize - 1, Type: typeOf("i8")}
		all = append(all, CombinedField{How: how, Name: how, Field: last})
	}
	slices.SortStableFunc(all, func(a, b CombinedField) int {
		return slices.Index(ways, a.How) - slices.Index(ways, b.How)
	})
	return all
}

// numbers returns fields of all types of numbers after the key, each combined in another way. The
// results of sums are appended and have space for any total.
func numbers(layout format.Layout) (all []CombinedField) {
	ways := []string{"sum", "min", "max", "first", "last"}
	last := layout.Key[len(layout.Key)-1]
	at := last.Offset + last.Type.Size
	for i := range 2 * len(format.NumberTypes) {
		name := format.NumberTypes[i/2]
		if i%2 == 1 {
			name += "be"
		}
		f := CombinedField{How: ways[i%len(ways)], Field: format.Field{Offset: at, Type: typeOf(name)}}
		if f.Field.Type.Kind == format.Extended || at+f.Field.Type.Size > layout.RecordSize {
			continue
		}
		if i%3 == 0 {
			f.Name = "result" + name
		}
		f.Sum = f.Field.Type
		switch {
		case f.How != "sum":
		case f.Field.Type.IsFloat():
			f.How = "max"
		default:
			f.Name = "total" + name
			f.Sum = typeOf("i128be")
		}
		all = append(all, f)
		at += 1 + i%5
		if f.Name == "" {
			at += f.Field.Type.Size
		}
	}
	slices.SortStableFunc(all, func(a, b CombinedField) int {
		return slices.Index(ways, a.How) - slices.Index(ways, b.How)
	})
	return all
}

// floats returns sums of the bytes of a record as floats. Such sums depend on the order of the
// additions.
func floats(layout format.Layout) []CombinedField {
	size := layout.RecordSize
	if size < 4 {
		return []CombinedField{appendedSum("total", 0, "u8", "u32")}
	}
	all := []CombinedField{
		appendedSum("x", 0, "f32", "f32"),
		appendedSum("brain", 2, "bf16", "f32be"),
	}
	if size >= 8 {
		all = append(all, appendedSum("y", size-8, "f64be", "f64"))
	}
	return all
}

// combine returns the result for the records with the indexes members, in this order.
func (c CombinedField) combine(recs []byte, size int, members []int) []byte {
	var values [][]byte
	for _, i := range members {
		at := i*size + c.Field.Offset
		values = append(values, recs[at:at+c.Field.Type.Size])
	}
	order := func(a, b []byte) int { return bytes.Compare(appendKey(nil, a, c.Field), appendKey(nil, b, c.Field)) }
	switch c.How {
	case "first":
		return values[0]
	case "last":
		return values[len(values)-1]
	case "min":
		return slices.MinFunc(values, order)
	case "max":
		return slices.MaxFunc(values, order)
	}
	if len(values) == 1 && c.Sum == c.Field.Type {
		return values[0]
	}
	if c.Field.Type.IsFloat() {
		return c.sumOfFloats(values)
	}
	return c.sumOfIntegers(values)
}

// ascending returns the bytes of a number, most significant first.
func ascending(value []byte, t format.Type) []byte {
	value = slices.Clone(value)
	if !t.BigEndian {
		slices.Reverse(value)
	}
	return value
}

func (c CombinedField) sumOfIntegers(values [][]byte) []byte {
	total := new(big.Int)
	for _, v := range values {
		number := new(big.Int).SetBytes(ascending(v, c.Field.Type))
		if c.Field.Type.Kind == format.Signed && number.Bit(8*len(v)-1) == 1 {
			number.Sub(number, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
		}
		total.Add(total, number)
	}
	if total.Sign() < 0 {
		total.Add(total, new(big.Int).Lsh(big.NewInt(1), uint(8*c.Sum.Size)))
	}
	return ascending(total.FillBytes(make([]byte, c.Sum.Size)), c.Sum)
}

func (c CombinedField) sumOfFloats(values [][]byte) []byte {
	total := math.Copysign(0, -1) // -0 + x is x for each x
	for _, v := range values {
		b := ascending(v, c.Field.Type)
		switch {
		case c.Field.Type.Kind == format.Brain:
			total += float64(math.Float32frombits(uint32(binary.BigEndian.Uint16(b)) << 16))
		case len(b) == 4:
			total += float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
		default:
			total += math.Float64frombits(binary.BigEndian.Uint64(b))
		}
	}
	var result []byte
	switch isNaN := math.IsNaN(total); {
	case c.Sum.Size == 4 && isNaN:
		result = []byte{0x7f, 0xc0, 0, 0}
	case c.Sum.Size == 4:
		result = binary.BigEndian.AppendUint32(nil, math.Float32bits(float32(total)))
	case isNaN:
		result = []byte{0x7f, 0xf8, 0, 0, 0, 0, 0, 0}
	default:
		result = binary.BigEndian.AppendUint64(nil, math.Float64bits(total))
	}
	return ascending(result, c.Sum)
}
