package textform

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
)

// typeNames lists every type, in both byte orders.
func typeNames() []string {
	var names []string
	for _, name := range slices.Concat(format.NumberTypes, format.TimeTypes(), []string{"ucs1", "ucs5"}) {
		names = append(names, name)
		if name != "u8" && name != "i8" {
			names = append(names, name+"be")
		}
	}
	return append(names, strings.Fields("bytes1 bytes5 bytes16 bytes20 ebcdic1 ebcdic9 "+
		"zoned1 zoned2 zoned9 zoned31 packed1 packed4 packed9 packed16")...)
}

func mustType(t *testing.T, name string) format.Type {
	t.Helper()
	parsed, err := format.ParseType(name)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// someValue returns the bytes of a value: any, or bytes that are special in some type.
func someValue(r *rand.Rand, typ format.Type) []byte {
	value := make([]byte, typ.Size)
	for i := range value {
		value[i] = byte(r.Uint32())
	}
	switch r.IntN(8) {
	case 0:
		clear(value)
	case 1:
		for i := range value {
			value[i] = 0xff
		}
	case 2: // an extreme sign, exponent or NaN at either end
		for i := range value {
			value[i] = 0
		}
		special := [][]byte{{0x80}, {0x7f, 0xff}, {0x7f, 0xf0}, {0xff, 0xf8}, {0x7c}, {0xfe}, {0x7f, 0x80}, {0xff, 0xc0}}
		edge := special[r.IntN(len(special))]
		copy(value, edge)
		if !typ.BigEndian {
			slices.Reverse(value)
		}
	case 3: // text
		copy(value, []byte("0x, \"a\\é;\t\x00|")[r.IntN(6):])
	case 4: // small
		clear(value[1:])
		if typ.BigEndian {
			slices.Reverse(value)
		}
	case 5: // decimals and EBCDIC
		for i := range value {
			value[i] = 0xf0 | byte(r.IntN(10))
			if typ.Kind == format.Packed {
				value[i] = byte(r.IntN(10)<<4 | r.IntN(10))
			}
		}
		last := &value[len(value)-1]
		sign := byte(0xA + r.IntN(6))
		if typ.Kind == format.Packed {
			*last = *last&0xf0 | sign
		} else {
			*last = sign<<4 | *last&15
		}
	case 6:
		if typ.Kind == format.UCS {
			for i := 0; i < typ.Size; i += 4 {
				char := uint32("aé€😀\" "[r.IntN(3)])
				if typ.BigEndian {
					binary.BigEndian.PutUint32(value[i:], char)
				} else {
					binary.LittleEndian.PutUint32(value[i:], char)
				}
			}
		}
		if typ.Form >= format.FormSeconds && typ.Form <= format.FormNanos {
			store(value, typ.BigEndian, uint64(r.Int64N(1e18)-1e17))
		}
	}
	return value
}

// TestRoundTrip converts records of every type to lines of every form and back, in pieces of whole
// lines.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range typeNames() {
		typ := mustType(t, name)
		columns := []format.Column{
			{Name: "first", Type: typ},
			{Name: "byte, \"x\"", Offset: typ.Size, Type: format.Type{Kind: format.Bytes, Size: 3}},
			{Name: "last", Offset: typ.Size + 3, Type: typ},
		}
		size := 2*typ.Size + 3
		records := 1000
		if typ.Kind == format.Extended {
			records = 40 // numbers of up to 4,932 digits take a while
		}
		var recs []byte
		for range records {
			for _, c := range columns {
				recs = append(recs, someValue(r, c.Type)...)
			}
		}
		for _, form := range Forms {
			for _, alone := range []bool{false, true} {
				roundTrip(t, r, form, alone, size, columns, recs)
			}
		}
	}
}

// roundTrip tests records with all columns, or only the values of the first column.
func roundTrip(t *testing.T, r *rand.Rand, form Form, alone bool, size int, columns []format.Column, recs []byte) {
	t.Helper()
	if alone {
		columns = columns[:1]
		size = columns[0].Type.Size
		recs = recs[:len(recs)/size*size]
	}
	name := fmt.Sprintf("%v as %s, alone: %v", columns[0].Type, form, alone)
	encoder := NewEncoder(form, size, columns)
	lines := encoder.Append(encoder.Header(nil), recs)

	decoder := NewDecoder(form, size, columns)
	if form.HasHeader() {
		length, err := decoder.SetHeader(lines, false)
		if err != nil || length == 0 {
			t.Fatalf("%s: the header is not recognized: %v", name, err)
		}
		lines = lines[length:]
	}
	var got []byte
	line := int64(1)
	for len(lines) > 0 {
		end := decoder.Whole(lines[:r.IntN(len(lines))+1])
		if end == 0 {
			end = decoder.Whole(lines)
		}
		var n int64
		var err error
		got, n, err = decoder.Append(got, lines[:end], line)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		line += n
		lines = lines[end:]
	}
	if !bytes.Equal(got, recs) {
		at := 0
		for at < len(got) && at < len(recs) && got[at] == recs[at] {
			at++
		}
		first := at / size * size
		t.Fatalf("%s: record %x became %x, written as %q", name, recs[first:first+size],
			got[first:min(first+size, len(got))], encoder.Append(nil, recs[first:first+size]))
	}
	if want := int64(len(recs)/size) + 1; line != want {
		t.Errorf("%s: %d lines, want %d", name, line-1, want-1)
	}
}

// TestCSVMatchesLibrary reads lines of text with encoding/csv, and lines of encoding/csv with a
// Decoder.
func TestCSVMatchesLibrary(t *testing.T) {
	texts := []string{"plain", "a,b", `say "hi"`, " blank", "", "é", `"`, `""`, "tail "}
	columns := []format.Column{
		{Name: "a", Type: format.Type{Kind: format.Bytes, Size: 8}},
		{Name: "b,c", Offset: 8, Type: format.Type{Kind: format.Bytes, Size: 8}},
	}
	var recs []byte
	var want [][]string
	for _, a := range texts {
		for _, b := range texts {
			rec := make([]byte, 16)
			copy(rec, a)
			copy(rec[8:], b)
			recs = append(recs, rec...)
			want = append(want, []string{a, b})
		}
	}
	encoder := NewEncoder(CSV, 16, columns)
	got, err := csv.NewReader(bytes.NewReader(encoder.Append(encoder.Header(nil), recs))).ReadAll()
	if err != nil || !slices.EqualFunc(got, append([][]string{{"a", "b,c"}}, want...), slices.Equal[[]string]) {
		t.Errorf("encoding/csv reads %q, %v", got, err)
	}

	var lines bytes.Buffer
	w := csv.NewWriter(&lines)
	w.UseCRLF = true
	if err := w.WriteAll(want); err != nil {
		t.Fatal(err)
	}
	back, _, err := NewDecoder(CSV, 16, columns).Append(nil, lines.Bytes(), 1)
	if err != nil || !bytes.Equal(back, recs) {
		t.Errorf("the lines of encoding/csv give other records: %v", err)
	}
}

// TestJSONMatchesLibrary reads objects with encoding/json.
func TestJSONMatchesLibrary(t *testing.T) {
	columns := []format.Column{
		{Name: `n"1`, Type: mustType(t, "f32")}, {Name: "s", Offset: 4, Type: mustType(t, "bytes4")},
		{Name: "p", Offset: 8, Type: mustType(t, "packed2")}, {Name: "t", Offset: 10, Type: mustType(t, "time_s")},
	}
	r := rand.New(rand.NewPCG(3, 4))
	encoder := NewEncoder(JSONL, 18, columns)
	for range 5000 {
		var rec []byte
		for _, c := range columns {
			rec = append(rec, someValue(r, c.Type)...)
		}
		line := encoder.Append(nil, rec)
		var object map[string]any
		if err := json.Unmarshal(line, &object); err != nil || len(object) != len(columns) {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

// TestTexts compares the texts of values with the notation that the package describes.
func TestTexts(t *testing.T) {
	float := func(v float64) string {
		return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, math.Float64bits(v)))
	}
	for _, c := range []struct{ typ, value, want string }{
		{"u8", "ff", "255"}, {"i8", "ff", "-1"}, {"u24", "010002", "131073"}, {"i40be", "8000000000", "-549755813888"},
		{"u64be", "ffffffffffffffff", "18446744073709551615"},
		{"u128be", strings.Repeat("ff", 16), "340282366920938463463374607431768211455"},
		{"u128be", "00000000000000010000000000000000", "18446744073709551616"},
		{"u128be", "00000000000000008ac7230489e80000", "10000000000000000000"},
		{"i128be", "80000000000000000000000000000000", "-170141183460469231731687303715884105728"},
		{"f64be", float(0.1), "0.1"}, {"f64be", float(math.Copysign(0, -1)), "-0"}, {"f64be", float(1e300), "1e+300"},
		{"f64be", float(math.Inf(1)), "Inf"}, {"f64be", "fff0000000000000", "-Inf"},
		{"f64be", "7ff8000000000000", "NaN"}, {"f64be", "fff8000000000000", "-NaN"},
		{"f32be", "7fc00001", "NaN(0x7fc00001)"}, {"f32be", "3dcccccd", "0.1"}, {"f32be", "00000001", "1e-45"},
		{"f16be", "3c00", "1"}, {"f16be", "2e66", "0.1"}, {"f16be", "7bff", "6.55e+04"}, {"f16be", "0001", "6e-08"},
		{"bf16be", "3dcd", "0.1"}, {"bf16be", "ff80", "-Inf"},
		{"f80be", "3fff8000000000000000", "1"}, {"f80be", "c000c000000000000000", "-3"},
		{"f80be", "00000000000000000001", "4e-4951"}, {"f80be", "3ffb8000000000000001", "0.06250000000000000001"},
		{"f80be", "00008000000000000000", "0x00008000000000000000"},
		{"f80in96", "000000000000008000400100", "0x000000000000008000400100"},
		{"bytes4", "61620000", "ab"}, {"bytes4", "c3a92020", "é  "}, {"bytes4", "30783030", "0x30783030"},
		{"bytes2", "0aff", "0x0aff"}, {"bytes2", "0000", ""},
		{"ebcdic5", "c8859393d6", "HellO"}, {"ebcdic4", "c1404040", "A"}, {"ebcdic2", "0d25", "0x0d25"},
		{"ucs2be", "0001f60000000000", "😀"}, {"ucs1be", "0000d800", "0x0000d800"},
		{"packed2", "123c", "+123"}, {"packed2", "123d", "-123"}, {"packed2", "007f", "7"}, {"packed2", "12ac", "0x12ac"},
		{"zoned3", "f1f2c3", "+123"}, {"zoned3", "f0f0f0", "0"}, {"zoned3", "f0f0d0", "-0"},
		{"zoned3", "313233", "0x313233"},
		{"time_msbe", "00000000000000fa", "1970-01-01T00:00:00.250Z"}, {"time_sbe", "8000000000000000", "NaT"},
	} {
		value, err := hex.DecodeString(c.value)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(codecOf(mustType(t, c.typ)).encode(nil, value)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.typ, c.value, got, c.want)
		}
	}
}

// TestAllSmallFloats converts all floats of 16 bits, and checks that shorter texts are not enough.
func TestAllSmallFloats(t *testing.T) {
	for _, form := range []*floatForm{&halfForm, &brainForm} {
		for bits := range uint64(1 << 16) {
			text := form.append(nil, bits)
			if back, fault := form.parse(text); fault != "" || back != bits {
				t.Fatalf("%#x: %s gives %#x %s", bits, text, back, fault)
			}
		}
	}
	for text, want := range map[string]uint64{
		"65504": 0x7bff, "1.00048828125": 0x3c00, "1.0014648": 0x3c01, "1.00146484375": 0x3c02,
		"2.9802322e-08": 0, "3e-8": 1,
	} {
		if got, fault := halfForm.parse([]byte(text)); fault != "" || got != want {
			t.Errorf("%s: %#x %s, want %#x", text, got, fault, want)
		}
	}
	if _, fault := halfForm.parse([]byte("65520")); fault != outOfRange {
		t.Errorf("65520 as f16: %q", fault)
	}
}

// TestParsing reads notations that an Encoder does not write.
func TestParsing(t *testing.T) {
	for _, c := range []struct{ typ, text, want string }{
		{"u8", "0xff", "ff"}, {"u8", "+7", "07"}, {"u8", "-0", "00"}, {"i16be", "-0x1", "ffff"},
		{"u64be", "00000000000000000000000001", "0000000000000001"},
		{"u128be", "0xffffffffffffffffffffffffffffffff", strings.Repeat("ff", 16)},
		{"f64be", "1", "3ff0000000000000"}, {"f64be", "infinity", "7ff0000000000000"}, {"f32be", "+nan", "7fc00000"},
		{"f80be", "1.5", "3fffc000000000000000"}, {"f80be", "-nan", "ffffc000000000000000"},
		{"bytes16", "123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"},
		{"bytes2", "0x0AfF", "0aff"}, {"bytes4", "ab", "61620000"},
		{"packed2", "000123", "123f"}, {"zoned2", "-5", "f0d5"},
		{"time_sbe", "2000-02-29", "0000000038bb0c00"}, {"time_sbe", "7", "0000000000000007"},
	} {
		typ := mustType(t, c.typ)
		got := make([]byte, typ.Size)
		fault := codecOf(typ).decode(got, []byte(c.text))
		if fault != "" || hex.EncodeToString(got) != c.want {
			t.Errorf("%s %s: %x %s, want %s", c.typ, c.text, got, fault, c.want)
		}
	}
	for _, c := range []struct {
		typ, text string
		want      problem
	}{
		{"u8", "256", outOfRange}, {"u8", "-1", outOfRange}, {"i8", "128", outOfRange}, {"i8", "-129", outOfRange},
		{"u64", "18446744073709551616", outOfRange}, {"u8", "", notANumber},
		{"u8", "1.5", notANumber}, {"u8", "x", notANumber},
		{"u128", "340282366920938463463374607431768211456", outOfRange},
		{"i128", "170141183460469231731687303715884105728", outOfRange},
		{"u128", "-1", outOfRange}, {"u128", "1_0", notANumber},
		{"f64", "1e400", outOfRange}, {"f64", "1,5", notANumber}, {"f32", "1e39", outOfRange}, {"f80", "1e5000", outOfRange},
		{"f80", "--1", notANumber}, {"bytes2", "abc", tooLong}, {"bytes2", "0xab", badHex}, {"bytes2", "0xabcg", badHex},
		{"ucs1", "ab", tooLong}, {"ebcdic1", "ab", tooLong}, {"packed1", "10", outOfRange}, {"packed1", "x", notANumber},
		{"zoned1", "", notANumber},
	} {
		typ := mustType(t, c.typ)
		if fault := codecOf(typ).decode(make([]byte, typ.Size), []byte(c.text)); fault != c.want {
			t.Errorf("%s %q: %q, want %q", c.typ, c.text, fault, c.want)
		}
	}
}

// TestBadLines checks that an error names the line and shows its content.
func TestBadLines(t *testing.T) {
	columns := []format.Column{{Name: "a", Type: mustType(t, "u16")}, {Name: "b", Offset: 2, Type: mustType(t, "bytes2")}}
	for _, c := range []struct {
		form       Form
		text, want string
	}{
		{CSV, "1,x\n2\n", `line 2: "2" has too few values: 1 instead of 2`},
		{CSV, "1,x,\n", `line 1: "1,x," has too many values: more than 2`},
		{CSV, "1,x\n\n70000,y\n", `line 3: "70000" is out of the range of the type (field a, type u16)`},
		{CSV, "1,\"x\n", `line 1: "1,\"x" has an incomplete quotation`},
		{CSV, "1,xyz", `line 1: "xyz" is longer than the field (field b, type bytes2)`},
		{TSV, "1\tx\n\n", `line 2: "" is not a number of the type (field a, type u16)`},
		{JSONL, `{"a":1,"b":"x"}` + "\n[1]\n", `line 2: "[1]" is not an object of JSON: it is not between { and }`},
		{JSONL, `{"a":1}`, `line 1: "{\"a\":1}" has 1 values instead of 2: a, b`},
		{JSONL, `{"b":"x","b":"y"}`, `line 1: "{\"b\":\"x\",\"b\":\"y\"}" is not an object of JSON: it has b twice`},
		{JSONL, `{"a":1,"c":"y"}`, `line 1: "c" is not a field: the fields are a, b`},
		{Hex, "01020304\n0102", `line 2: "0102" has 4 digits: a record of 4 bytes has 8`},
		{Hex, "0102030g", `line 1: "0102030g" is not hexadecimal`},
	} {
		_, _, err := NewDecoder(c.form, 4, columns).Append(nil, []byte(c.text), 1)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s %q: %v, want %s", c.form, c.text, err, c.want)
		}
	}
}

func TestHeader(t *testing.T) {
	columns := []format.Column{{Name: "a", Type: mustType(t, "u8")}, {Name: "b", Offset: 1, Type: mustType(t, "u8")}}
	for _, c := range []struct {
		text     string
		required bool
		want     string // of the records after the header
		fault    string
	}{
		{"b,a\n1,2\n", false, "0201", ""},
		{"b\r\n1\r\n", false, "0001", ""},
		{"\"a\", b\n1,2\n", false, "0102", ""},
		{"1,2\n", false, "0102", ""},
		{"a,c\n", true, "", `line 1: the header has "c", which is not a field`},
		{"a,a\n", true, "", "line 1: the header names the field a twice"},
		{"", false, "", ""},
	} {
		d := NewDecoder(CSV, 2, columns)
		length, err := d.SetHeader([]byte(c.text), c.required)
		if fmt.Sprint(err) != c.fault && (err != nil || c.fault != "") {
			t.Errorf("%q: %v, want %q", c.text, err, c.fault)
			continue
		}
		if err != nil {
			continue
		}
		got, _, err := d.Append(nil, []byte(c.text)[length:], 2)
		if err != nil || hex.EncodeToString(got) != c.want {
			t.Errorf("%q: %x, %v, want %s", c.text, got, err, c.want)
		}
	}
	vectors := []format.Column{{Name: "0", Type: mustType(t, "u8")}}
	if _, err := NewDecoder(CSV, 1, vectors).SetHeader([]byte("0\n"), false); err == nil {
		t.Error("a header that could be a record is not refused")
	}
}

func FuzzDecoder(f *testing.F) {
	columns, err := format.ParseFields("a=u16 b=f64 c=bytes3 d=zoned2 e=f80 t=time_ns w=ucs1")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("1,2,x,3,4,NaT,y\n"), byte(0))
	f.Add([]byte(`{"a":1,"b":2,"c":"","d":4,"e":5,"t":0,"w":"é"}`), byte(2))
	size := 2 + 8 + 3 + 2 + 10 + 8 + 4
	f.Fuzz(func(t *testing.T, text []byte, which byte) {
		form := Forms[int(which)%len(Forms)]
		recs, _, err := NewDecoder(form, size, columns).Append(nil, text, 1)
		if len(recs)%size != 0 {
			t.Fatalf("%d bytes are not whole records", len(recs))
		}
		if err != nil {
			return
		}
		again, _, err := NewDecoder(form, size, columns).Append(nil, NewEncoder(form, size, columns).Append(nil, recs), 1)
		if err != nil || !bytes.Equal(again, recs) {
			t.Fatalf("%x became %x, %v", recs, again, err)
		}
	})
}
