package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/internal/option"
)

// ForeignName is what kind of file begins with first, its first DetectBytes, for example "a Parquet file", where that
// kind has more in it than records, or is compressed by what cannot be read here; "": none that is known.
func ForeignName(first []byte) string {
	if f := recognise(foreignCompressions, first); f != nil {
		return "compressed with " + f.name
	}
	if c := byMagic(first); c != nil {
		return c.found
	}
	if f := recognise(foreignFiles, first); f != nil {
		return f.name
	}
	return ""
}

// Array is what the header of a NumPy array or of vectors says.
type Array struct {
	DType       string // of a NumPy array, as Python writes it
	HeaderBytes int64
	Records     int64
	RecordSize  int          // bytes
	Fields      []ArrayField // one without a name, unless the array has a structured type or columns, the first of them
	Columns     int          // of an array of two dimensions; 0: it has one
}

// shownColumns is how many columns of an array are described as fields.
const shownColumns = 12

// ArrayField is a field of an array's records.
type ArrayField struct {
	Field        // where it stands; the zero Type: it cannot be a key
	Name  string // of one in a structure with dots
	Why   string // it cannot be a key; "": it can
}

// ReadArray reads a header of a container that ListsFields, and not a byte more.
func ReadArray(container string, r io.Reader) (*Array, error) {
	c := Spec{Format: container}.container()
	if c == nil || c.describe == nil {
		return nil, fmt.Errorf("format %q does not list fields", container)
	}
	a, err := c.describe(r)
	if err != nil {
		return nil, err
	}
	if a.Columns > 0 { // all are as the first is
		a.Fields = slices.Repeat(a.Fields, min(a.Columns, shownColumns))
		for i := range a.Fields {
			a.Fields[i].Name, a.Fields[i].Offset = strconv.Itoa(i), i*(a.RecordSize/a.Columns)
		}
	}
	return a, nil
}

func readNpyArray(r io.Reader) (*Array, error) {
	text, size, err := readNpyText(r)
	if err != nil {
		return nil, err
	}
	a, err := parseNpyText(text)
	if err != nil {
		return nil, err
	}
	a.HeaderBytes = size
	return a, nil
}

// column resolves COLUMN[:desc], the first column being 0, or OFFSET:TYPE[:desc], in a record whose values are of one
// type and follow each other, as in a row of an array of two dimensions.
func (a *Array) column(key string) (Field, error) {
	number, direction, _ := strings.Cut(key, ":")
	if strings.Contains(key, ":") && direction != "desc" && direction != "asc" {
		return ParseField(key)
	}
	at, err := strconv.Atoi(number)
	switch {
	case err != nil || at < 0 || at >= a.Columns:
		return Field{}, fmt.Errorf("key %q: no such column: a record has columns 0 to %d", key, a.Columns-1)
	case a.Fields[0].Why != "":
		return Field{}, fmt.Errorf("key %q: %s", key, a.Fields[0].Why)
	}
	f := a.Fields[0].Field
	f.Offset, f.Desc = f.Offset+at*f.Type.Size, direction == "desc"
	return f, nil
}

// columnLayout is that of records by keys, which may be left out where there is one column.
func (a *Array) columnLayout(s Spec) (Layout, error) {
	if len(s.Keys) == 0 && a.Columns == 1 {
		s.Keys = []string{"0"}
	}
	if len(s.Keys) == 0 {
		return Layout{}, fmt.Errorf("a record has %d columns, so name the columns to sort by, the first "+
			"deciding, as %v COLUMN[:desc], from 0 to %d", a.Columns, option.Keys, a.Columns-1)
	}
	return s.keyedLayout(a.RecordSize, a.column)
}

// Number is where a value of the field stands on the number line, from its part of a normalized key: the value of a
// number, and of bytes or characters the first eight bytes as a big-endian number. It is rounded to a float64; a NaN or
// NaT is NaN.
func (f Field) Number(key []byte) float64 {
	if f.isText() {
		size := min(len(key), 8)
		bits := PrefixOf(key)
		if f.Desc {
			bits ^= lowBits(8 * size)
		}
		return math.Ldexp(float64(bits), 8*(8-size))
	}
	if f.Type.IsFloat() {
		_, x := f.Type.float(f.ascending(key))
		return x
	}
	x, err := strconv.ParseFloat(f.text(key, 0), 64)
	if err != nil { // NaT
		return math.NaN()
	}
	return x
}

// isText reports whether the values of the field are bytes or characters.
func (f Field) isText() bool { return f.Type.Kind == Bytes || f.Type.Kind == UCS }

// HasNaNs reports whether values of the field may be a NaN or a NaT.
func (f Field) HasNaNs() bool { return f.Type.IsFloat() || f.NaT }

// NumberText is a place on the number line, as a value of the field: six digits of a number, of bytes the first four.
func (f Field) NumberText(x float64) string {
	if f.isText() {
		first := uint64(math.MaxUint64)
		if x < 1<<64 {
			first = uint64(max(x, 0))
		}
		text := map[Kind]func([]byte, int) string{Bytes: bytesText, UCS: ucsText}[f.Type.Kind]
		return text(binary.BigEndian.AppendUint64(nil, first)[:min(f.Type.Size, 4)], 0)
	}
	if !f.Type.IsFloat() && math.Abs(x) < 1e15 {
		return fmt.Sprintf("%.0f", x)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}
