package textform

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testrows"
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
	value := formattest.Bytes(r, typ.Size)
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

// TestQuotedLineBreaks compares the ends of lines with a count of the quotes before each line break.
func TestQuotedLineBreaks(t *testing.T) {
	t.Parallel()
	decoder := NewDecoder(CSV, 1, nil)
	isEnd := func(text []byte, at int) bool { return text[at] == '\n' && bytes.Count(text[:at], []byte{'"'})%2 == 0 }
	r := rand.New(rand.NewPCG(2, 7))
	for range 2000 {
		text := make([]byte, r.IntN(20))
		for i := range text {
			text[i] = "\n\n\",x"[r.IntN(5)]
		}
		first, whole := len(text), 0
		for at := range text {
			if isEnd(text, at) {
				first = min(first, at+1)
				whole = at + 1
			}
		}
		if got := len(decoder.firstLine(text)); got != first {
			t.Fatalf("%q: the first line has %d bytes, want %d", text, got, first)
		}
		if got := decoder.Whole(text); got != whole {
			t.Fatalf("%q: whole lines have %d bytes, want %d", text, got, whole)
		}
	}

	// An open quotation takes linear time: hours would pass if each line break counted all quotes.
	open := append([]byte("5\"\n"), bytes.Repeat([]byte("1\n"), 8<<20)...)
	if whole, first := decoder.Whole(open), decoder.firstLine(open); whole != 0 || len(first) != len(open) {
		t.Errorf("an open quotation: whole lines have %d bytes, the first line has %d", whole, len(first))
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
	for _, row := range testrows.Read(t, "texts.txt") {
		typ, want := mustType(t, row[0]), row[2]
		value, err := hex.DecodeString(row[1])
		if err != nil {
			t.Fatal(err)
		}
		if got := string(codecOf(typ).encode(nil, value)); got != want {
			t.Errorf("%s %x: %s, want %s", row[0], value, got, want)
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

// TestParsing reads notations that an Encoder does not write, and texts that are refused.
func TestParsing(t *testing.T) {
	for _, row := range testrows.Read(t, "parsing.txt") {
		typ := mustType(t, row[0])
		value := make([]byte, typ.Size)
		got := ""
		if fault := codecOf(typ).decode(value, []byte(row[1])); fault != "" {
			got = fmt.Sprint("error: ", fault)
		} else {
			got = hex.EncodeToString(value)
		}
		if got != row[2] {
			t.Errorf("%s %q: %s, want %s", row[0], row[1], got, row[2])
		}
	}
}

// TestBadLines checks that an error names the line and shows its content.
func TestBadLines(t *testing.T) {
	columns := []format.Column{{Name: "a", Type: mustType(t, "u16")}, {Name: "b", Offset: 2, Type: mustType(t, "bytes2")}}
	for _, row := range testrows.Read(t, "bad_lines.txt") {
		form := Form(row[0])
		_, _, err := NewDecoder(form, 4, columns).Append(nil, []byte(row[1]), 1)
		if err == nil || err.Error() != row[2] {
			t.Errorf("%s %q: %v, want %s", form, row[1], err, row[2])
		}
	}
}

func TestHeader(t *testing.T) {
	columns := []format.Column{{Name: "a", Type: mustType(t, "u8")}, {Name: "b", Offset: 1, Type: mustType(t, "u8")}}
	for _, row := range testrows.Read(t, "headers.txt") {
		d := NewDecoder(CSV, 2, columns)
		length, err := d.SetHeader([]byte(row[0]), row[1] == "required")
		var recs []byte
		if err == nil {
			recs, _, err = d.Append(nil, []byte(row[0])[length:], 2)
		}
		got := hex.EncodeToString(recs)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != row[2] {
			t.Errorf("%q: %s, want %s", row[0], got, row[2])
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
