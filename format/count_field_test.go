package format

import (
	"bytes"
	"testing"
)

// TestFindCount has headers of IDX files and of vectors, and others that nearly are some.
func TestFindCount(t *testing.T) {
	const images = "\x00\x00\x08\x03\x00\x00\x00\x05\x00\x00\x00\x1c\x00\x00\x00\x1c"
	const labels = "\x00\x00\x08\x01\x00\x00\x00\x05"
	const vectors = "\x05\x00\x00\x00\x03\x00\x00\x00"
	const big, little = "\x00\x00\x01\x02", "\x02\x01\x00\x00"
	for _, c := range []struct {
		name, header string
		size         int
		records      int64
		want         string // with 0x102 records; "": it is not recognised
	}{
		{"images", images, 28 * 28, 5, images[:4] + big + images[8:]},
		{"images.gz", images, 28 * 28, -1, images[:4] + big + images[8:]},
		{"labels", labels, 1, 5, labels[:4] + big},
		{"images", images, 28, 5, ""},
		{"images", images, 28 * 28, 6, ""},
		{"images", images[:12], 28 * 28, 5, ""},
		{"labels", "\x00\x01" + labels[2:], 1, 5, ""},
		{"labels", "\x00\x00\x0a" + labels[3:], 1, 5, ""},
		{"no dimensions", "\x00\x00\x08\x00", 1, 5, ""},
		{"a.fbin", vectors, 12, 5, little + vectors[4:]},
		{"a.ibin", vectors, 12, -1, little + vectors[4:]},
		{"a.u8bin.zst", vectors, 3, -1, little + vectors[4:]},
		{"a.i8bin", vectors, 3, 5, little + vectors[4:]},
		{"a.fbin", vectors, 3, 5, ""},
		{"a.fbin", vectors, 12, 4, ""},
		{"a.fbin", vectors[:7] + "\x01", 12, 5, ""},
		{"a.fbin", "\x05\x00\x00\x00\x00\x00\x00\x00", 0, 5, ""},
		{"a.bin", vectors, 12, 5, ""},
		{"standard input", vectors, 12, -1, ""},
		{"", "HDR06\x00\x00\x00", 1, 6, ""},
		{"", "", 1, 6, ""},
	} {
		before := []byte(c.header)
		count := FindCount(before, c.size, c.records, c.name)
		if (count != nil) != (c.want != "") {
			t.Errorf("%s, %q, records of %d bytes, %d of them: %v", c.name, c.header, c.size, c.records, count)
			continue
		}
		h := &Header{layout: Layout{RecordSize: c.size}}
		h.KeepBefore(before, count)
		want := c.want
		if want == "" {
			want = c.header
		}
		if got := h.Encode(0x102); string(got) != want || !bytes.Equal(before, []byte(c.header)) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
		if most := h.MaxRecords(); (most == maxCount) != (count != nil) {
			t.Errorf("%s: at most %d records", c.name, most)
		}
	}
}
