package format

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testrows"
)

// bigannHeader is the number and the dimension of vectors.
func bigannHeader(count, dimension byte) string {
	return string([]byte{count, 0, 0, 0, dimension, 0, 0, 0})
}

func TestBigannHeaders(t *testing.T) {
	for _, row := range testrows.Read(t, "bigann.txt") {
		spec, data, want := fromWords[Spec](t, row[0]), row[1], row[2]
		r := strings.NewReader(data + "records")
		if len(data) < bigannHeaderSize {
			r = strings.NewReader(data)
		}
		h, err := spec.ReadHeader(r, "v")
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v, %q: %v, want %q", spec, data, err, want)
			}
			continue
		}
		rest, _ := io.ReadAll(r)
		if h.Layout().String() != want || h.Size() != 8 || h.Records() != int64(data[0]) || string(rest) != "records" {
			t.Errorf("%v: %v, want %s; %d records behind %d bytes", spec, h.Layout(), want, h.Records(), h.Size())
		}
		if got := string(h.Encode(7)); got != "\x07"+data[1:] {
			t.Errorf("%v: encoded as %q", spec, got)
		}
		if h.MaxRecords() != math.MaxUint32 {
			t.Errorf("%v: at most %d records", spec, h.MaxRecords())
		}
		if _, err := h.WithAppended(counts); err == nil {
			t.Errorf("%v: there is a place for counts", spec)
		}
	}
}

// TestBigannGuess has files whose size fits their first bytes, and others that nearly do.
func TestBigannGuess(t *testing.T) {
	first := []byte(bigannHeader(5, 3))
	for _, c := range []struct {
		name  string
		bytes int64
		given Spec
		want  string // the format; "": none
	}{
		{"a.fbin", 68, Spec{}, "fbin"}, {"a.ibin", 68, Spec{}, "ibin"}, {"a.u8bin", 23, Spec{}, "u8bin"},
		{"a.i8bin.zst", 23, Spec{}, "i8bin"}, {"a.bin", 68, Spec{}, ""}, {"a.fbin", 67, Spec{}, ""},
		{"a.fbin", 23, Spec{}, ""}, {"fbin", 68, Spec{}, ""},
		{"a.bin", 68, Spec{Type: "f32"}, "fbin"}, {"a.bin", 68, Spec{Type: "i32"}, "ibin"},
		{"a.fbin", 68, Spec{Type: "u32"}, ""}, {"a.bin", 23, Spec{Type: "u8"}, "u8bin"},
		{"a.fbin", 68, Spec{RecordSize: 12}, "fbin"}, {"a.bin", 68, Spec{RecordSize: 12}, ""},
		{"a.fbin", 68, Spec{RecordSize: 4}, ""},
	} {
		_, s, ok := Recognition{}.guess(file{c.name, first, c.bytes, c.given})
		if s.Format != c.want || ok != (c.want != "") {
			t.Errorf("%+v: %q, %t", c, s.Format, ok)
		}
		doubt := Recognition{}.CountDoubt(c.given, c.name, first, c.bytes)
		isPlain := c.given.Type != "" || c.given.RecordSize > 0
		names := strings.Contains(doubt, "use Record.Format "+c.want)
		if (doubt != "") != (isPlain && c.want != "") || doubt != "" && !names {
			t.Errorf("%+v: doubt %q", c, doubt)
		}
		if _, ok := (Recognition{Raw: true}).Guess(c.name, first, c.bytes); ok {
			t.Errorf("%+v: guessed although its bytes are records", c)
		}
	}
}

func TestCreateBigann(t *testing.T) {
	h, err := Spec{Format: "u8bin", RecordSize: 3, Keys: []string{"2"}}.NewHeader()
	if err != nil || h.Layout().String() != "3-byte records by 2:u8" || string(h.Encode(5)) != bigannHeader(5, 3) {
		t.Fatal(h, err)
	}
	for _, size := range []int{0, 6} {
		_, err := Spec{Format: "fbin", RecordSize: size, Keys: []string{"0"}}.NewHeader()
		if err == nil || !strings.Contains(err.Error(), "add Record.RecordSize BYTES, 4 for each component") {
			t.Errorf("-R %d: %v", size, err)
		}
	}
}

func TestDescribeBigann(t *testing.T) {
	a, err := ReadArray("fbin", strings.NewReader(bigannHeader(5, 100)))
	if err != nil || a.Records != 5 || a.RecordSize != 400 || a.Columns != 100 || a.HeaderBytes != 8 ||
		len(a.Fields) != shownColumns || a.Fields[2].Offset != 8 || a.Fields[2].Name != "2" {
		t.Errorf("%+v, %v", a, err)
	}
	for _, c := range []struct{ container, data, want string }{
		{"fbin", bigannHeader(5, 0), "a dimension of 0"}, {"fbin", "1", "ends after 1 of the 8 bytes"},
		{"sosd", "12345678", `"sosd" does not list fields`}, {"x", "", `"x" does not list fields`},
	} {
		if _, err := ReadArray(c.container, strings.NewReader(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestContainerRows checks that the functions and the properties of each row are consistent.
func TestContainerRows(t *testing.T) {
	var names []string
	for _, c := range containers {
		names = append(names, c.Name)
		check := func(ok bool, what string) {
			if !ok {
				t.Errorf("container %q: %s", c.Name, what)
			}
		}
		check(c.check != nil, "nothing checks a description")
		check(c.read != nil || c.create != nil, "there is no way to a header")
		check(c.ListsFields == (c.describe != nil), "ListsFields is not what describe says")
		hasMagic := c.Magic != ""
		check(hasMagic == (c.found != "") && hasMagic == (c.advice != nil), "a magic needs found and advice")
		check((c.guess == nil) == (c.counts == ""), "guess and counts belong together")
		check(!c.HasCount || c.encode != nil || c.written != nil, "it announces a number that nothing writes")
		check(c.Name == "" || c.About != "", "nothing describes it")
		check(!c.IsPlain || c.encode == nil, "plain records have no header")
		if c.encode != nil && c.create != nil {
			spec := Spec{Format: c.Name, Type: "u64", RecordSize: 8, Keys: []string{"0"}}
			if !c.hasSize {
				spec.RecordSize = 0
				spec.Keys = nil
			} else {
				spec.Type = ""
			}
			h, err := spec.NewHeader()
			if err != nil {
				t.Errorf("%v: %v", spec, err)
				continue
			}
			few := h.Encode(0)
			many := h.Encode(min(h.MaxRecords(), 1<<40))
			isFixed := len(few) == len(many) && int64(len(few)) == h.Size()
			check(isFixed && !bytes.Equal(few, many), "the header has no fixed size, or no count")
		}
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("a name is there twice: %q", names)
	}
}
