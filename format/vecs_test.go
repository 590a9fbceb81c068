package format

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"
)

// vectors returns n vectors of bytesEach bytes that count up, each after its dimension.
func vectors(dimension uint32, bytesEach, n int) []byte {
	var all []byte
	for i := range n {
		all = binary.LittleEndian.AppendUint32(all, dimension)
		for j := range bytesEach {
			all = append(all, byte(i+j))
		}
	}
	return all
}

func TestVecs(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		data []byte
		want string // layout, or the expected error
	}{
		{Spec{Format: "fvecs", Keys: []string{"2"}}, vectors(3, 12, 2), "16-byte records by 12:f32"},
		{Spec{Format: "ivecs", Keys: []string{"0:desc", "1"}}, vectors(2, 8, 1), "12-byte records by 4:i32:desc, 8:i32"},
		{Spec{Format: "bvecs", Keys: []string{"127"}}, vectors(128, 128, 2), "132-byte records by 131:u8"},
		{Spec{Format: "bvecs"}, vectors(1, 1, 2), "5-byte records by 4:u8"},
		{Spec{Format: "fvecs", Keys: []string{"0:u32"}}, vectors(3, 12, 2), "16-byte records by 0:u32"},

		{Spec{Format: "fvecs"}, vectors(3, 12, 2), "3 columns, so name the columns to sort by"},
		{Spec{Format: "fvecs", Keys: []string{"3"}}, vectors(3, 12, 2), "no such column: a record has columns 0 to 2"},
		{Spec{Format: "fvecs", Keys: []string{"0"}}, vectors(3, 12, 1)[:3], "ends after 3 of the 4 bytes of the dimension"},

		{Spec{Format: "fvecs"}, nil, "8-byte records by 4:f32"},
		{Spec{Format: "bvecs", Keys: []string{"0:desc", "9"}}, nil, "14-byte records by 4:u8:desc, 13:u8"},
		{Spec{Format: "ivecs", Keys: []string{"6:u64"}}, nil, "16-byte records by 6:u64"},
		{Spec{Format: "ivecs", Keys: []string{"0:u32"}}, nil, "8-byte records by 0:u32"},
		{Spec{Format: "ivecs", Keys: []string{"-1"}}, nil, "no such column"},
		{Spec{Format: "ivecs", Keys: []string{"999999999"}}, nil, "no such column"},

		{Spec{Format: "fvecs", Keys: []string{"0"}}, vectors(0, 0, 1), "a dimension of 0 at byte 0 is impossible"},
		{Spec{Format: "fvecs", Keys: []string{"0"}}, vectors(262144, 8, 1), "262144 at byte 0 is impossible (1 to 262143)"},
		{Spec{Format: "ivecs", Keys: []string{"0"}}, vectors(1<<31, 8, 1), "-2147483648 at byte 0"},
		{Spec{Format: "fvecs", Type: "f32"}, nil, "Record.Format fvecs excludes Record.Type"},
		{Spec{Format: "fvecs", RecordSize: 8}, nil, "Record.Format fvecs excludes Record.RecordSize"},
	} {
		r := bytes.NewReader(c.data)
		h, err := c.spec.ReadHeader(r, "v")
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v, want %q", c.spec, err, c.want)
			}
			continue
		}
		rest, _ := io.ReadAll(r)
		if h.Layout().String() != c.want || h.Size() != 0 || !bytes.Equal(append(h.Begun(), rest...), c.data) {
			t.Errorf("%v: %v, want %s; %x begun", c.spec, h.Layout(), c.want, h.Begun())
		}
		if _, err := h.WithAppended(counts); err == nil {
			t.Errorf("%v: there is a place for counts", c.spec)
		}
	}
}

// TestVecsOfOneDimension finds a vector of a different dimension wherever the bytes are cut.
func TestVecsOfOneDimension(t *testing.T) {
	good := vectors(3, 12, 5)
	h, err := Spec{Format: "fvecs", Keys: []string{"0"}}.ReadHeader(bytes.NewReader(good), "v.fvecs")
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(good)
	bad[16*3+1] = 1
	for from := range good {
		for to := from; to <= len(good); to++ {
			if err := h.CheckRecords(good[from:to], int64(from)); err != nil {
				t.Fatal(err)
			}
			err := h.CheckRecords(bad[from:to], int64(from))
			if seen := from <= 16*3+1 && 16*3+1 < to; (err != nil) != seen {
				t.Fatalf("bytes %d to %d: %v", from, to, err)
			}
			if err != nil && !strings.Contains(err.Error(), "v.fvecs: record 4 (byte 48) has a different dimension") {
				t.Fatal(err)
			}
		}
	}
}
