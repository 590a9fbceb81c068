package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testrows"
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
	for _, row := range testrows.Read(t, "vecs.txt") {
		spec, want := fromWords[Spec](t, row[0]), row[2]
		var dimension uint32
		var bytesEach, n int
		if row[1] != "" {
			if _, err := fmt.Sscan(row[1], &dimension, &bytesEach, &n); err != nil {
				t.Fatal(err)
			}
		}
		data := vectors(dimension, bytesEach, n)
		r := bytes.NewReader(data)
		h, err := spec.ReadHeader(r, "v")
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, want %q", spec, err, want)
			}
			continue
		}
		rest, _ := io.ReadAll(r)
		if h.Layout().String() != want || h.Size() != 0 || !bytes.Equal(append(h.FirstBytes(), rest...), data) {
			t.Errorf("%v: %v, want %s; %x begun", spec, h.Layout(), want, h.FirstBytes())
		}
		if _, err := h.WithAppended(counts); err == nil {
			t.Errorf("%v: there is a place for counts", spec)
		}
	}
}

func TestVecsCutWithinDimension(t *testing.T) {
	_, err := Spec{Format: "fvecs", Keys: []string{"0"}}.ReadHeader(bytes.NewReader(vectors(3, 12, 1)[:3]), "v")
	if err == nil || !strings.Contains(err.Error(), "ends after 3 of the 4 bytes of the dimension") {
		t.Error(err)
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
