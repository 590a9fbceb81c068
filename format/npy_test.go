package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/extsort/extsort/internal/testrows"
)

// npyFile is a header of the given version and text, followed by data.
func npyFile(major byte, text string) string {
	b := append([]byte(npyMagic), major, 0)
	if major == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	}
	return string(b) + text
}

func npyText(descr string) string {
	return "{'descr': " + descr + ", 'fortran_order': False, 'shape': (5,), }\n"
}

func TestNpyLayouts(t *testing.T) {
	rows := testrows.Read(t, "npy_layouts.txt")
	long := "[('" + strings.Repeat("n", 1025) + "', '<u4')]"
	for _, row := range append(rows, []string{long, "", "a name of more than 1024 bytes"}) {
		descr, keys, want := row[0], strings.Fields(row[1]), row[2]
		h, err := Spec{Format: "npy", Keys: keys}.ReadHeader(strings.NewReader(npyFile(1, npyText(descr))), "a.npy")
		got := ""
		if err != nil {
			got = err.Error()
			if !strings.Contains(got, "a.npy") {
				t.Errorf("%s: %v does not name the file", descr, err)
			}
		} else {
			got = h.Layout().String()
			if h.Records() != 5 {
				t.Errorf("%s: %d records", descr, h.Records())
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s by %v: %s\nwant %s", descr, keys, got, want)
		}
	}
}

// TestNpyRows has arrays of two dimensions, whose rows are sorted by columns.
func TestNpyRows(t *testing.T) {
	for _, row := range testrows.Read(t, "npy_rows.txt") {
		spec := Spec{Format: "npy", Type: row[2], Keys: strings.Fields(row[3])}
		want := row[4]
		text := "{'descr': " + row[0] + ", 'fortran_order': False, 'shape': (9, " + row[1] + "), }"
		h, err := spec.ReadHeader(strings.NewReader(npyFile(1, text)), "a.npy")
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q", row, err, want)
			}
			continue
		}
		if got := h.Layout().String(); got != want || h.Records() != 9 {
			t.Errorf("%v: %s of %d records, want %s", row, got, h.Records(), want)
		}
		again, err := spec.ReadHeader(bytes.NewReader(h.Encode(77)), "b.npy")
		if err != nil || again.Records() != 77 || again.Size() != int64(len(h.Encode(0))) || h.Compatible(again) != nil {
			t.Errorf("%v: reads back as %+v, %v", row, again, err)
		}
	}
}

func TestNpyRowsCompatible(t *testing.T) {
	read := func(columns int) *Header {
		h, err := Spec{Format: "npy"}.ReadHeader(bytes.NewReader(encodeNpy("'<u8'", 4, columns)), fmt.Sprint("a", columns))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if err := read(0).Compatible(read(1)); err == nil || !strings.Contains(err.Error(), "'<u8' in 1 columns") {
		t.Errorf("one dimension and two: %v", err)
	}
	counted, err := read(1).WithAppended(counts)
	if err != nil || !strings.Contains(string(counted.Encode(2)), "[('value', '<u8', (1,)), ('count', '<u8')]") ||
		!strings.Contains(string(counted.Encode(2)), "(2,)") {
		t.Errorf("with counts: %q, %v", counted.Encode(2), err)
	}
	for columns := range 2 { // records without fields become the field value
		if h, err := read(columns).WithAppended([]Column{{Name: "value", Type: counts[0].Type}}); err == nil {
			t.Errorf("two fields have one name: %q", h.Encode(2))
		}
	}
}

func TestNpyHeaderFaults(t *testing.T) {
	faults := map[string]string{
		"":                          "ends after 0 of the 8 bytes of the npy magic",
		"\x93NUM":                   "ends after 4 of the 8 bytes",
		"PK\x03\x04 a zip file":     "not an npy file",
		npyFile(4, "x")[:9]:         "version 4.0",
		npyFile(2, "x")[:10]:        "ends after 2 of the 4 bytes of the npy header length",
		npyFile(1, "{'descr'")[:12]: "ends after 2 of the 8 bytes of the npy header",
		npyFile(2, strings.Repeat(" ", npyMaxHeader+1)): "is more than 131072",
		npyFile(3, "{'\xff': 1}"):                       "not UTF-8",
		npyFile(1, strings.Repeat("[", 10001)):          "exceeded max depth",
	}
	for _, row := range testrows.Read(t, "npy_faults.txt") {
		faults[npyFile(1, row[0])] = row[1]
	}
	for input, want := range faults {
		if _, err := (Spec{Format: "npy"}).ReadHeader(strings.NewReader(input), "a.npy"); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", input, err, want)
		}
	}
}

func TestNpySpacing(t *testing.T) {
	for _, text := range []string{
		"{'descr': '<u4', 'fortran_order': False, 'shape': (10L,), }",
		`{"shape":(10,),"fortran_order":True,"descr":u'\x3cu4'}` + "   \n",
		"{ 'descr' : b'<u4' ,\n 'fortran_order' : False ,\t'shape' : ( 10 , ) }",
	} {
		h, err := Spec{Format: "npy", Type: "u32"}.ReadHeader(strings.NewReader(npyFile(2, text)), "a.npy")
		if err != nil || h.Records() != 10 || h.Layout().String() != "bare u32" || h.Size() != int64(12+len(text)) {
			t.Errorf("%s: %+v, %v", text, h, err)
		}
	}
	if _, err := (Spec{Format: "npy", Type: "i32"}).ReadHeader(strings.NewReader(npyFile(1, npyText("'<u4'"))),
		"a.npy"); err == nil || !strings.Contains(err.Error(), "not Record.Type i32") {
		t.Errorf("-t i32 for an array of u4: %v", err)
	}
}

// TestNpyVoids uses -t to define the content of an array of bytes, which NumPy writes for unknown
// types.
func TestNpyVoids(t *testing.T) {
	for typ, want := range map[string]string{"bf16": "bare bf16", "u16be": "bare u16be", "u32": "not Record.Type u32"} {
		h, err := Spec{Format: "npy", Type: typ}.ReadHeader(strings.NewReader(npyFile(1, npyText("'|V2'"))), "a.npy")
		got := fmt.Sprint(err)
		if err == nil {
			got = h.Layout().String()
		}
		if !strings.Contains(got, want) || err == nil && !strings.Contains(string(h.Encode(5)), "'|V2'") {
			t.Errorf("-t %s: %s, want %s", typ, got, want)
		}
	}
}

// TestNpyLongDoubles has -t say that x86 wrote an array, which its dtype does not say.
func TestNpyLongDoubles(t *testing.T) {
	file := npyFile(1, npyText("'>f16'"))
	for typ, want := range map[string]string{"f80in128be": "bare f80in128be", "f80in128": "not Record.Type f80in128",
		"u128be": "not Record.Type u128be", "": "give Record.Type f80in128be"} {
		h, err := Spec{Format: "npy", Type: typ}.ReadHeader(strings.NewReader(file), "a.npy")
		got := fmt.Sprint(err)
		if err == nil {
			got = h.Layout().String()
		}
		if !strings.Contains(got, want) {
			t.Errorf("-t %q: %s, want %s", typ, got, want)
		}
	}
}

func TestNpyReadsOnlyTheHeader(t *testing.T) {
	for major := range byte(3) {
		r := strings.NewReader(npyFile(major+1, npyText("'<u8'")) + "data")
		if _, err := (Spec{Format: "npy"}).ReadHeader(r, "a"); err != nil {
			t.Fatal(err)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "data" {
			t.Errorf("version %d: %q is left", major+1, rest)
		}
	}
}

// What numpy.save of NumPy 1.26 and 2.x writes for np.zeros(3, dtype) before the data.
func TestEncodeNpyMatchesNumPy(t *testing.T) {
	if got := string(encodeNpy("'<f4'", 3, 4)); got != "\x93NUMPY\x01\x00v\x00"+
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"+strings.Repeat(" ", 58)+"\n" {
		t.Errorf("rows: %q", got)
	}
	for dtype, want := range map[string]string{
		"'<u8'": "\x93NUMPY\x01\x00v\x00{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }" + strings.Repeat(" ", 60) +
			"\n",
		"[('a', '<u4'), ('b', '<f8', (3,))]": "\x93NUMPY\x01\x00v\x00" +
			"{'descr': [('a', '<u4'), ('b', '<f8', (3,))], 'fortran_order': False, 'shape': (3,), }" +
			strings.Repeat(" ", 31) + "\n",
	} {
		if got := string(encodeNpy(dtype, 3, 0)); got != want {
			t.Errorf("%s:\n%q\n%q", dtype, got, want)
		}
	}
}

func TestEncodeNpyLengthIsConstantAndReadsBack(t *testing.T) {
	wide := strings.Repeat("('field', '<u4'), ", 5000)
	for _, dtype := range []string{"'<u8'", "'|S123'", "[('größe', '<u4')]", "[('ключ', '<u4'), ('x', '|V3')]",
		`[("it's", '<u4'), ('a\\b\n', '<u4')]`, "[" + wide[:len(wide)-2] + "]"} {
		length := len(encodeNpy(dtype, 0, 0))
		if length%npyAlignment != 0 {
			t.Errorf("%.40s: the data begins at %d", dtype, length)
		}
		for _, n := range []int64{0, 1, 9, 10, 1 << 32, math.MaxInt64} {
			b := encodeNpy(dtype, n, 0)
			if len(b) != length {
				t.Errorf("%.40s: %d bytes for %d records, %d for 0", dtype, len(b), n, length)
			}
			text, size, err := readNpyText(bytes.NewReader(b))
			if err != nil || size != int64(length) || !strings.Contains(text, dtype) ||
				!strings.Contains(text, fmt.Sprintf("(%d,)", n)) {
				t.Errorf("%.40s, %d records: %v: %.200s", dtype, n, err, text)
			}
		}
	}
}

func TestNpyOutputOfAnInput(t *testing.T) {
	for _, descr := range []string{
		"'<u8'", "[('id', '<u4'), ('', '|V4'), ('größe', [('x', '>f8')], (2, 3)), (('title', 'k'), '|i1')]",
		"[('ключ', '<u4'), ('id', '<u4')]",
	} {
		spec := Spec{Format: "npy"}
		if descr[0] == '[' {
			spec.Keys = []string{"id"}
		}
		h, err := spec.ReadHeader(strings.NewReader(npyFile(3, npyText(descr))), "a.npy")
		if err != nil {
			t.Fatal(err)
		}
		again, err := spec.ReadHeader(bytes.NewReader(h.Encode(77)), "b.npy")
		if err != nil || again.Records() != 77 || again.Size() != int64(len(h.Encode(0))) {
			t.Fatalf("%s: %v", descr, err)
		}
		if err := h.Compatible(again); err != nil {
			t.Error(err)
		}
	}
}

func TestCreateNpy(t *testing.T) {
	for typ, want := range map[string]string{"u64": "'<u8'", "i16be": "'>i2'", "u8": "'|u1'", "f32": "'<f4'",
		"bytes10": "'|S10'", "f16": "'<f2'", "bf16": "'<V2'", "bf16be": "'>V2'", "ucs3be": "'>U3'",
		"f80in96be": "'>f12'", "f80in128": "'<f16'"} {
		h, err := Spec{Format: "npy", Type: typ}.NewHeader()
		if err != nil || h.dtype != want || h.Size() != int64(len(h.Encode(12345))) {
			t.Errorf("-t %s: %+v, %v", typ, h, err)
			continue
		}
		back, err := Spec{Format: "npy", Type: typ}.ReadHeader(bytes.NewReader(h.Encode(9)), "x")
		if err != nil || back.Compatible(h) != nil {
			t.Errorf("-t %s does not read back: %v", typ, err)
		}
	}
	for spec, want := range map[string]string{"": "add Record.Type TYPE", "u128": "no type of 128 bits"} {
		if _, err := (Spec{Format: "npy", Type: spec}).NewHeader(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("-t %q: %v, want %q", spec, err, want)
		}
	}
}

func FuzzReadHeader(f *testing.F) {
	f.Add([]byte(npyFile(1, npyText("'<u8'"))), "")
	f.Add([]byte(npyFile(2, npyText("[('id', '<u4'), ('p', [('x', '>f8')], (2,)), (('t', 'n'), '|S3')]"))), "id:desc")
	f.Add([]byte(npyFile(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }")), "1:desc")
	f.Add([]byte(npyFile(3, `{"shape":(10L,),"fortran_order":True,"descr":u'\x3cu4'}`)), "0:u8")
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		spec := Spec{Format: "npy"}
		if key != "" {
			spec.Keys = []string{key}
		}
		r := bytes.NewReader(data)
		h, err := spec.ReadHeader(r, "x")
		if err != nil {
			return
		}
		if int64(len(data)-r.Len()) != h.Size() || h.Records() < 0 || h.Layout().Validate() != nil {
			t.Fatalf("read %d bytes; %+v", len(data)-r.Len(), h)
		}
		again, err := spec.ReadHeader(bytes.NewReader(h.Encode(h.Records())), "x")
		if err != nil || h.Compatible(again) != nil || again.Records() != h.Records() {
			t.Fatalf("%q reads back as %+v, %v; was %+v", h.Encode(h.Records()), again, err, h)
		}
	})
}

// TestLatin1 converts every byte, and refuses characters that have none.
func TestLatin1(t *testing.T) {
	var every []byte
	for b := range 256 {
		every = append(every, byte(b))
	}
	text := fromLatin1(every)
	if n := utf8.RuneCountInString(text); n != 256 || !strings.HasSuffix(text, "þÿ") {
		t.Errorf("256 bytes became %d characters: %q", n, text)
	}
	if back, ok := toLatin1(text); !ok || !bytes.Equal(back, every) {
		t.Errorf("the characters became %q, %v", back, ok)
	}
	for _, other := range []string{"Ā", "a€", "\xff"} {
		if raw, ok := toLatin1(other); ok {
			t.Errorf("%q became %q", other, raw)
		}
	}
}
