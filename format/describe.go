package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
)

// ForeignName is what kind of file begins with first, its first DetectBytes, for example "a Parquet file", where that
// kind has more in it than records, or is compressed by what cannot be read here; "": none that is known.
func ForeignName(first []byte) string {
	if f := recognise(foreignCompressions, first); f != nil {
		return "compressed by " + f.name
	}
	if f := recognise(containers, first); f != nil {
		return f.name
	}
	return ""
}

// Array is what the header of a NumPy array says.
type Array struct {
	DType       string // as Python writes it
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

// ReadArray reads the header of a NumPy array, and not a byte more.
func ReadArray(r io.Reader) (*Array, error) {
	text, size, err := readNpyText(r)
	if err != nil {
		return nil, err
	}
	dt, records, err := parseNpyText(text)
	if err != nil {
		return nil, err
	}
	a := &Array{DType: dt.text, HeaderBytes: size, Records: records, RecordSize: dt.size, Columns: dt.columns}
	a.Fields = dt.fields
	if dt.columns > 0 { // all are as the first is
		a.Fields = slices.Repeat(dt.fields, min(dt.columns, shownColumns))
		for i := range a.Fields {
			a.Fields[i].Name, a.Fields[i].Offset = strconv.Itoa(i), i*(dt.size/dt.columns)
		}
	}
	return a, nil
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
