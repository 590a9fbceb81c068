package format

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/extsort/extsort/internal/testrows"
)

// TestFindCount has headers of IDX files and of vectors, and others that nearly are some.
func TestFindCount(t *testing.T) {
	unhex := func(text string) []byte {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, row := range testrows.Read(t, "count_fields.txt") {
		name, before, want := row[0], unhex(row[1]), unhex(row[4])
		var size int
		var records int64
		if _, err := fmt.Sscan(row[2]+" "+row[3], &size, &records); err != nil {
			t.Fatal(err)
		}
		count := FindCount(before, size, records, name)
		if (count != nil) != (len(want) > 0) {
			t.Errorf("%q: %v", row, count)
			continue
		}
		h := &Header{layout: Layout{RecordSize: size}}
		h.KeepBefore(before, count)
		if len(want) == 0 {
			want = before
		}
		if got := h.Encode(0x102); !bytes.Equal(got, want) || !bytes.Equal(before, unhex(row[1])) {
			t.Errorf("%q: %q, want %q", row, got, want)
		}
		if most := h.MaxRecords(); (most == maxCount) != (count != nil) {
			t.Errorf("%q: at most %d records", row, most)
		}
	}
}
