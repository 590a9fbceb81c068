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

// ForeignName returns the kind of a file, for example "a Parquet file", that does not consist of
// records or uses an unsupported compression. first contains its first DetectBytes. For other
// files it returns "".
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

// An Array is the content of the header of a NumPy array or of vectors.
type Array struct {
	DType       string // of a NumPy array, in Python's notation
	HeaderBytes int64
	Records     int64
	RecordSize  int // in bytes
	// Fields has one field without a name, unless the array has a structured type or columns. In
	// the latter case it has the first columns.
	Fields  []ArrayField
	Columns int // number of columns of a two-dimensional array; 0 for one dimension
}

// shownColumns is the maximum number of columns described as fields.
const shownColumns = 12

// An ArrayField is a field of the records of an array.
type ArrayField struct {
	Field        // its position; the zero Type if it cannot be a key
	Name  string // nested names are joined with dots
	Why   string // why it cannot be a key; "" if it can
	form  Form   // of a NumPy datetime64
	dtype string // of a NumPy field, with its shape, in Python's notation
	bytes int    // its size in a NumPy array, also without a Type
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
	if a.Columns > 0 { // all columns are like the first one
		a.Fields = slices.Repeat(a.Fields, min(a.Columns, shownColumns))
		for i := range a.Fields {
			a.Fields[i].Name = strconv.Itoa(i)
			a.Fields[i].Offset = i * (a.RecordSize / a.Columns)
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

// column parses COLUMN[:desc], with columns numbered from 0, or OFFSET:TYPE[:desc]. It is for
// records of consecutive values of one type, such as the rows of a two-dimensional array.
func (a *Array) column(key string) (Field, error) {
	number, direction, _ := strings.Cut(key, ":")
	if strings.Contains(key, ":") && direction != "desc" && direction != "asc" {
		return ParseField(key)
	}
	at, err := strconv.Atoi(number)
	switch {
	case err != nil || at < 0 || at >= a.Columns:
		return Field{}, fmt.Errorf(
			"key %q: no such column: a record has columns 0 to %d",
			key,
			a.Columns-1,
		)
	case a.Fields[0].Why != "":
		return Field{}, fmt.Errorf("key %q: %s", key, a.Fields[0].Why)
	}
	f := a.Fields[0].Field
	f.Offset = f.Offset + at*f.Type.Size
	f.Desc = direction == "desc"
	return f, nil
}

// columnLayout returns the layout of records with the given keys, which may be omitted if there
// is one column.
func (a *Array) columnLayout(s Spec) (Layout, error) {
	if len(s.Keys) == 0 && a.Columns == 1 {
		s.Keys = []string{"0"}
	}
	if len(s.Keys) == 0 {
		return Layout{}, fmt.Errorf(
			"a record has %d columns, so name the columns to sort by, most "+
				"significant first, as %v COLUMN[:desc], from 0 to %d",
			a.Columns, option.Keys, a.Columns-1,
		)
	}
	return s.keyedLayout(a.RecordSize, a.column)
}

// Number returns the position of a value of the field on the number line. key is its part of a
// normalized key. For a number this is its value; for bytes or characters it is the first eight
// bytes as a big-endian number. The result is rounded to a float64. NaN and NaT give NaN.
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

	if f.Type.isTime() && !f.IsNaN(key) {
		return float64(int64(PrefixOf(f.ascending(key)) ^ 1<<63))
	}
	x, err := strconv.ParseFloat(f.text(key, 0), 64)
	if err != nil { // a NaT
		return math.NaN()
	}
	return x
}

// isText reports whether the values of the field are bytes or characters.
func (f Field) isText() bool {
	return f.Type.Kind == Bytes || f.Type.Kind == UCS
}

// HasNaNs reports whether the field can contain NaN or NaT.
func (f Field) HasNaNs() bool { return f.Type.IsFloat() || f.hasNaT() }

// NumberText formats a position on the number line as a value of the field: a number with six
// digits, or the first four bytes.
func (f Field) NumberText(x float64) string {
	if f.isText() {
		first := uint64(math.MaxUint64)
		if x < 1<<64 {
			first = uint64(max(x, 0))
		}
		text := map[Kind]func([]byte, int) string{
			Bytes: bytesText,
			UCS:   ucsText,
		}[f.Type.Kind]
		return text(
			binary.BigEndian.AppendUint64(nil, first)[:min(f.Type.Size, 4)], 0,
		)
	}

	if f.Type.isTime() && math.Abs(x) < math.MaxInt64 {
		return string(AppendTime(nil, int64(x), f.Type.Form))
	}
	if !f.Type.IsFloat() && math.Abs(x) < 1e15 {
		return fmt.Sprintf("%.0f", x)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}
