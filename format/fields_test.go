package format

import (
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testrows"
)

// TestParseFields parses descriptions with every kind of notation.
func TestParseFields(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"time=0:u64 sensor=8:u32 value=12:f32", "time=0:u64 sensor=8:u32 value=12:f32"},
		{"a=u64,b=int16_t,c=float", "a=0:u64 b=8:i16 c=10:f32"},
		{"a=4:uuid\nb=sha256 # a comment, with x=y\n\n# another\nc=double", "a=4:bytes16 b=20:bytes32 c=52:f64"},
		{"n=packed:5 z=zoned:3 e=40:ebcdic:10 w=time_msbe", "n=0:packed5 z=5:zoned3 e=40:ebcdic10 w=50:time_msbe"},
		{"a = u64\nb\t=2:u8", "a=0:u64 b=2:u8"},
		{"y=2:u8 x=0:u16", "y=2:u8 x=0:u16"},
		{"größe=u8", "größe=0:u8"},
	} {
		columns, err := ParseFields(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := fieldList(columns); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

// fieldList returns columns in the notation of ParseFields.
func fieldList(columns []Column) string {
	var words []string
	for _, c := range columns {
		words = append(words, c.Name+"="+strings.TrimSuffix(Field{Offset: c.Offset, Type: c.Type}.String(), ":desc"))
	}
	return strings.Join(words, " ")
}

func TestParseFieldsErrors(t *testing.T) {
	for _, row := range testrows.Read(t, "field_faults.txt") {
		text, want := row[0], row[1]
		if _, err := ParseFields(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestFieldsDescribeLayouts resolves keys by the names of fields.
func TestFieldsDescribeLayouts(t *testing.T) {
	for _, row := range testrows.Read(t, "fields.txt") {
		spec := fromWords[Spec](t, row[0])
		want, isError := strings.CutPrefix(row[1], "error: ")
		h, err := spec.NewHeader()
		switch {
		case isError:
			err = spec.Validate()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", row[0], err, want)
			}
		case err != nil || h.Layout().String() != want:
			t.Errorf("%s: %v %v, want %s", row[0], h, err, want)
		}
	}
}

// TestColumns checks that columns cover a record completely.
func TestColumns(t *testing.T) {
	for _, row := range testrows.Read(t, "columns.txt") {
		spec, want := fromWords[Spec](t, row[0]), row[1]
		h, err := AnyOrder(spec).NewHeader()
		if err != nil {
			t.Errorf("%+v: %v", spec, err)
			continue
		}
		if got := fieldList(h.Columns()); got != want {
			t.Errorf("%+v: %s, want %s", spec, got, want)
		}
	}
}

// TestColumnsOfArrays reads the columns of a structured NumPy array, with a field that cannot be a key.
func TestColumnsOfArrays(t *testing.T) {
	const dtype = "[('t', '<M8[ms]'), ('z', '<c8'), ('', '|V2'), ('in', [('x', '<f4'), ('y', '>i2')])]"
	header := encodeNpy(dtype, 0, 0)
	h, err := AnyOrder(Spec{Format: "npy"}).ReadHeader(strings.NewReader(string(header)), "a.npy")
	if err != nil {
		t.Fatal(err)
	}
	const want = "t=0:time_ms z=8:bytes8 byte16=16:bytes2 in.x=18:f32 in.y=22:i16be"
	if got := fieldList(h.Columns()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
