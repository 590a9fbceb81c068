package format

import (
	"strings"
	"testing"
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
	for text, want := range map[string]string{
		"":                          "no fields",
		"  # nothing":               "no fields",
		"time":                      "want NAME=OFFSET:TYPE",
		"=u64":                      "want NAME=OFFSET:TYPE",
		"time=":                     "want NAME=OFFSET:TYPE",
		"a=u64 a=u32":               `field "a" is described twice`,
		"a=u65":                     "unknown type",
		"a=0:u64:desc":              "a direction belongs to a key",
		"4=u64":                     "begins with a letter",
		"a:b=u64":                   "begins with a letter",
		"a=1048576:u8":              "the maximum record size",
		"a=99999999999999999999:u8": "too large",
		"a=zoned:32":                "zonedN needs N from 1 to 31",
		"a=packed17":                "packedN needs N from 1 to 16",
	} {
		if _, err := ParseFields(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestFieldsDescribeLayouts resolves keys by the names of fields.
func TestFieldsDescribeLayouts(t *testing.T) {
	const fields = "time=0:u64 sensor=8:u32be value=12:f32"
	for _, c := range []struct {
		spec   Spec
		layout string
	}{
		{Spec{Fields: fields, Keys: []string{"time:desc"}}, "16-byte records by 0:u64:desc"},
		{Spec{Fields: fields, Keys: []string{"sensor", "time:asc"}}, "16-byte records by 8:u32be, 0:u64"},
		{Spec{Fields: fields, RecordSize: 20, Keys: []string{"value"}}, "20-byte records by 12:f32"},
		{Spec{Fields: fields, Keys: []string{"2:u16"}}, "16-byte records by 2:u16"},
		{Spec{Fields: "a=4:u16"}, "6-byte records by 4:u16"},
		{Spec{Fields: "a=u64"}, "bare u64"},
	} {
		h, err := c.spec.NewHeader()
		if err != nil || h.Layout().String() != c.layout {
			t.Errorf("%+v: %v %v, want %s", c.spec, h, err, c.layout)
		}
	}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Fields: fields}, "give the key"},
		{Spec{Fields: fields, Keys: []string{"size"}}, "no such field; the fields are time, sensor, value"},
		{Spec{Fields: fields, Keys: []string{"time:down"}}, "only :desc"},
		{Spec{Fields: fields, Keys: []string{"time"}, RecordSize: 15}, "the field value ends at byte 16"},
		{Spec{Fields: fields, Type: "u64"}, "cannot be combined"},
		{Spec{Fields: fields, Format: "npy"}, "excludes"},
		{Spec{Fields: fields, Format: "gensort"}, "excludes"},
	} {
		if err := c.spec.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

// TestColumns checks that columns cover a record completely.
func TestColumns(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Type: "f32be"}, "value=0:f32be"},
		{Spec{RecordSize: 16}, "value=0:bytes16"},
		{Spec{RecordSize: 16, Keys: []string{"8:u32"}}, "byte0=0:bytes8 byte8=8:u32 byte12=12:bytes4"},
		{Spec{RecordSize: 4, Keys: []string{"0:u32", "2:u16"}}, "byte0=0:u32"},
		{Spec{Format: "gensort"}, "byte0=0:bytes10 byte10=10:bytes90"},
		{Spec{Format: "sosd", Type: "u64"}, "value=0:u64"},
		{Spec{Format: "npy", Type: "i16"}, "value=0:i16"},
		{Spec{Format: "u8bin", RecordSize: 3}, "0=0:u8 1=1:u8 2=2:u8"},
		{
			Spec{Fields: "b=4:u16 a=0:u8", RecordSize: 9, Keys: []string{"a"}},
			"a=0:u8 byte1=1:bytes3 b=4:u16 byte6=6:bytes3",
		},
	} {
		h, err := AnyOrder(c.spec).NewHeader()
		if err != nil {
			t.Errorf("%+v: %v", c.spec, err)
			continue
		}
		if got := fieldList(h.Columns()); got != c.want {
			t.Errorf("%+v: %s, want %s", c.spec, got, c.want)
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
