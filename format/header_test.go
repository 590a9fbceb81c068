package format

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestSpecFaults(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want []string
	}{
		{Spec{}, []string{"unknown record layout"}},
		{Spec{Type: "u64", RecordSize: 8}, []string{"Record.Type u64 and Record.RecordSize 8 cannot be combined"}},
		{Spec{Type: "u65"}, []string{`unknown type "u65"`}},
		{Spec{Type: "u64", Keys: []string{"0:u8"}}, []string{"Record.Keys needs Record.RecordSize"}},
		{Spec{Keys: []string{"0:u8"}}, []string{"add Record.RecordSize BYTES"}},
		{Spec{RecordSize: -1}, []string{"Record.RecordSize -1"}},
		{Spec{RecordSize: 8, Keys: []string{"5:u32", "x:u8", "0:q"}}, []string{`offset "x"`, `unknown type "q"`}},
		{Spec{RecordSize: 8, Keys: []string{"5:u32", "7:u16be"}}, []string{"5:u32 needs 4 bytes from byte 5 on",
			"7:u16be needs 2 bytes"}},
		{Spec{RecordSize: 8, Keys: []string{strconv.Itoa(math.MaxInt) + ":u8"}},
			[]string{"from byte " + strconv.Itoa(math.MaxInt)}},
		{Spec{RecordSize: MaxKeyBytes + 1}, []string{"add Record.Keys OFFSET:TYPE"}},
		{Spec{Format: "csv"}, []string{`unknown format "csv"`}},
		{Spec{Format: "gensort", Type: "u8", RecordSize: 4, Keys: []string{"0:u8"}},
			[]string{"excludes Record.Type", "excludes Record.Keys", "excludes Record.RecordSize"}},
		{Spec{Format: "sosd"}, []string{"Record.Type u32 or Record.Type u64"}},
		{Spec{Format: "sosd", Type: "f64"}, []string{"Record.Type u32 or Record.Type u64"}},
		{Spec{Format: "npy", RecordSize: 3, Type: "nope"}, []string{"excludes Record.RecordSize", `unknown type "nope"`}},
	} {
		err := c.spec.Validate()
		if err == nil {
			t.Errorf("%+v is accepted", c.spec)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v\ndoes not say %q", c.spec, err, want)
			}
		}
	}
}

func TestRawHeaders(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Type: "f64be"}, "bare f64be"},
		{Spec{RecordSize: 12}, "bare bytes12"},
		{Spec{RecordSize: 7, Keys: []string{"3:u16be:desc", "0:i8"}}, "7-byte records by 3:u16be:desc, 0:i8"},
		{Spec{Format: "gensort"}, "100-byte records by 0:bytes10"},
	} {
		h, err := c.spec.ReadHeader(strings.NewReader("any"), "x")
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Layout().String(); got != c.want || h.Size() != 0 || h.Records() != -1 || len(h.Encode(3)) != 0 {
			t.Errorf("%v: %s, want %s without a header", c.spec, got, c.want)
		}
	}
}

func TestSosdHeader(t *testing.T) {
	spec := Spec{Format: "sosd", Type: "u32"}
	h, err := spec.ReadHeader(strings.NewReader("\x02\x00\x00\x00\x00\x00\x00\x00abcdefgh"), "x")
	if err != nil || h.Records() != 2 || h.Size() != 8 || h.Layout().String() != "bare u32" {
		t.Fatal(h, err)
	}
	if got := h.Encode(0x0102); !bytes.Equal(got, []byte{2, 1, 0, 0, 0, 0, 0, 0}) {
		t.Fatalf("encoded %x", got)
	}
	for input, want := range map[string]string{
		"abc":                              "ends after 3 of the 8 bytes of the key count",
		"":                                 "ends after 0 of the 8 bytes",
		"\xff\xff\xff\xff\xff\xff\xff\xff": "is this a sosd file?",
	} {
		if _, err := spec.ReadHeader(strings.NewReader(input), "in.sosd"); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "in.sosd") {
			t.Errorf("%q: %v, want %q", input, err, want)
		}
	}
}

func TestCheckSize(t *testing.T) {
	raw, _ := Spec{RecordSize: 100, Keys: []string{"0:bytes10"}}.NewHeader()
	sosd, _ := Spec{Format: "sosd", Type: "u64"}.ReadHeader(bytes.NewReader([]byte{3, 0, 0, 0, 0, 0, 0, 0}), "s")
	for _, c := range []struct {
		h     *Header
		bytes int64
		want  string // the number of records, or the expected error
	}{
		{raw, 0, "0"}, {raw, 100, "1"}, {raw, 1 << 50 / 100 * 100, ""},
		{raw, 1001, "partial last record at byte 1000 (1 of 100 bytes): check Record.RecordSize"},
		{raw, 99, "at byte 0 (99 of 100 bytes)"},
		{sosd, 32, "3"}, {sosd, 7, "fewer than the 8 of its header"},
		{sosd, 31, "partial last record at byte 24 (7 of 8 bytes): the file was cut short, or is not in the format sosd"},
		{sosd, 24, "announces 3 records of 8 bytes, but 2 follow: the file was cut short"},
		{sosd, 40, "but 4 follow: something was appended"},
	} {
		n, err := CheckSize("file.bin", c.h, c.bytes)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "file.bin: ") || c.want == "" {
				t.Errorf("%d bytes: %v, want %q", c.bytes, err, c.want)
			}
			continue
		}
		if want := (c.bytes - c.h.Size()) / int64(c.h.Layout().RecordSize); n != want || len(c.want) > 1 {
			t.Errorf("%d bytes: %d records, want %q", c.bytes, n, c.want)
		}
	}
}

func TestCompatible(t *testing.T) {
	read := func(s Spec, name, text string) *Header {
		h, err := s.ReadHeader(strings.NewReader(text), name)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	npy := Spec{Format: "npy"}
	a, b := read(npy, "a.npy", string(encodeNpy("'<u8'", 1, 0))), read(npy, "b.npy", string(encodeNpy("'<u8'", 7, 0)))
	c := read(npy, "c.npy", string(encodeNpy("'<i8'", 7, 0)))
	if err := a.Compatible(b); err != nil {
		t.Error(err)
	}
	err := a.Compatible(c)
	if err == nil || !strings.Contains(err.Error(), "a.npy has dtype '<u8', but c.npy has dtype '<i8'") {
		t.Errorf("u8 and i8: %v", err)
	}
	keyed := Spec{Format: "npy", Keys: []string{"k"}}
	x := read(keyed, "x", string(encodeNpy("[('k', '<u4'), ('v', '<u4')]", 1, 0)))
	y := read(keyed, "y", string(encodeNpy("[('v', '<u4'), ('k', '<u4')]", 1, 0)))
	if x.Compatible(y) == nil {
		t.Error("structures with other fields are called compatible")
	}
}

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int64{
		"0": 0, "1": 1, "512M": 512 << 20, "10KB": 10000, "10K": 10240, "10k": 10240, "10KiB": 10240, "1.5GiB": 3 << 29,
		"1.5G": 3 << 29, " 7 ": 7, "2T": 2 << 40, "3TB": 3e12, "100B": 100,
		"2.0": 2, "0.25K": 256, "0.1KB": 100, "9007199254740993": 1<<53 + 1,
		"9223372036854775807": 1<<63 - 1, "4 MiB": 4 << 20,
	} {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "M", "-1", "5X", "1,000", "50%", "9223372036854775808", "16E", "1e3", "0x10", "12MM",
		"1.9", "8.9B", "0.3K", "1.0001KB", ".", "1.2.3", "9223372036854775807.5", "1/2", "1,5K"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", s, got)
		}
	}
	_, err := ParseSize("0.3K")
	if want := `size "0.3K": it is 307.2 bytes, not a whole number of bytes`; err == nil || err.Error() != want {
		t.Errorf("0.3K: %v, want %s", err, want)
	}
}

// A limit is rounded down, but bytes without a unit have no fraction.
func TestParseLimit(t *testing.T) {
	for s, want := range map[string]int64{"1.1G": 1181116006, "0.3K": 307, "2.0": 2, "7": 7, "0.1KB": 100} {
		if got, err := ParseLimit(s); err != nil || got != want {
			t.Errorf("ParseLimit(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"1.9", "1.9B", "", "1,5K", "8.5E"} {
		if got, err := ParseLimit(s); err == nil {
			t.Errorf("ParseLimit(%q) = %d, want an error", s, got)
		}
	}
}

func FuzzSpec(f *testing.F) {
	f.Add("", "u64", 0, "")
	f.Add("", "", 12, "0:f32:desc")
	f.Add("gensort", "", 0, "")
	f.Fuzz(func(t *testing.T, format, typ string, recordSize int, key string) {
		spec := Spec{Format: format, Type: typ, RecordSize: recordSize}
		if key != "" {
			spec.Keys = []string{key, key}
		}
		h, err := spec.NewHeader()
		if err != nil {
			return
		}
		k, err := NewKeyer(h.Layout())
		if err != nil {
			t.Fatalf("%v is accepted, but %v", spec, err)
		}
		rec := make([]byte, h.Layout().RecordSize)
		if k.Compare(rec, rec) != 0 || k.BitRange(rec, 0, k.PrefixBits()) != k.Prefix(rec) {
			t.Fatalf("%v: keys are wrong", spec)
		}
	})
}
