package format

import (
	"bytes"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testrows"
)

func TestSpecFaults(t *testing.T) {
	for _, row := range testrows.Read(t, "spec_faults.txt") {
		spec := fromWords[Spec](t, row[0])
		err := spec.Validate()
		if err == nil {
			t.Errorf("%+v is accepted", spec)
			continue
		}
		for _, want := range strings.Split(row[1], " ... ") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v\ndoes not say %q", spec, err, want)
			}
		}
	}
}

func TestRawHeaders(t *testing.T) {
	for _, row := range testrows.Read(t, "raw_headers.txt") {
		spec, want := fromWords[Spec](t, row[0]), row[1]
		h, err := spec.ReadHeader(strings.NewReader("any"), "x")
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Layout().String(); got != want || h.Size() != 0 || h.Records() != -1 || len(h.Encode(3)) != 0 {
			t.Errorf("%v: %s, want %s without a header", spec, got, want)
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
	for _, s := range []string{"1.9", "1.9B", "", "1,5K", "8.5E", "0.0001K"} {
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
