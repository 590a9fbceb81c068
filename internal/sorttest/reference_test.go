package sorttest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

func layoutOf(t *testing.T, record string) format.Layout {
	t.Helper()
	spec, _, err := Spec(Settings{"record": record})
	if err != nil {
		t.Fatal(err)
	}
	header := formattest.Header(t, spec)
	return header.Layout()
}

// TestReference compares references with outputs that are written by hand.
func TestReference(t *testing.T) {
	pairs := "b1a1b2a2c1b3"
	seed := uint64(1)
	for name, c := range map[string]struct {
		record string
		s      Selection
		recs   string
		want   string
	}{
		"stable":     {"2/0:u8", Selection{}, pairs, "a1a2b1b2b3c1"},
		"reverse":    {"2/0:u8", Selection{Reverse: true}, pairs, "c1b1b2b3a1a2"},
		"descending": {"2/0:u8:desc", Selection{}, pairs, "c1b1b2b3a1a2"},
		"unique":     {"2/0:u8", Selection{Unique: true}, pairs, "a1b1c1"},
		"last":       {"2/0:u8", Selection{Unique: true, KeepLast: true}, pairs, "a2b3c1"},
		"duplicates": {"2/0:u8", Selection{Duplicates: true}, pairs, "a1b1"},
		"limit":      {"2/0:u8", Selection{Limit: 3}, pairs, "a1a2b1"},
		"no records": {"2/0:u8", Selection{Limit: -1}, pairs, ""},
		"two keys":   {"2/0:u8/1:u8:desc", Selection{}, pairs, "a2a1b3b2b1c1"},
		"count": {
			"1/0:u8", Selection{Unique: true, Count: true}, "bab",
			"a\x01\x00\x00\x00\x00\x00\x00\x00b\x02\x00\x00\x00\x00\x00\x00\x00",
		},
		"positions":     {"u8", Selection{ArgsortBytes: 4, Before: 5}, "ba", "\x06\x00\x00\x00\x05\x00\x00\x00"},
		"little-endian": {"u16", Selection{}, "\x00\x02\x01\x01", "\x01\x01\x00\x02"},
		"big-endian":    {"u16be", Selection{}, "\x02\x00\x01\x01", "\x01\x01\x02\x00"},
		"signed":        {"i8", Selection{}, "\x01\xff\x80\x00", "\x80\xff\x00\x01"},
		"characters": {
			"ucs2", Selection{}, "b\x00\x00\x00a\x00\x00\x00a\x00\x00\x00\x00\x01\x00\x00",
			"a\x00\x00\x00\x00\x01\x00\x00b\x00\x00\x00a\x00\x00\x00",
		},
		"one shuffled": {"u8", Selection{Shuffle: &seed}, "a", "a"},
	} {
		got := NewReference(layoutOf(t, c.record), []byte(c.recs), c.s)
		if string(got.Bytes) != c.want {
			t.Errorf("%s: %q, want %q", name, got.Bytes, c.want)
		}
	}
}

// TestReferenceOfFloats checks that floats are in the total order of IEEE 754.
func TestReferenceOfFloats(t *testing.T) {
	ascending := []float64{
		math.Copysign(math.NaN(), -1), math.Inf(-1), -2, -1, math.Copysign(0, -1), 0, 5e-324, 1, math.Inf(1), math.NaN(),
	}
	var want, recs []byte
	for _, v := range ascending {
		want = binary.LittleEndian.AppendUint64(want, math.Float64bits(v))
	}
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(len(ascending)) {
		recs = append(recs, want[8*i:8*i+8]...)
	}
	if got := NewReference(layoutOf(t, "f64"), recs, Selection{}); FirstDifference(got.Bytes, want, 8) != len(ascending) {
		t.Errorf("number %d is wrong", FirstDifference(got.Bytes, want, 8))
	}
}

// TestOrders checks that the orders of test data are what their names say.
func TestOrders(t *testing.T) {
	layout := layoutOf(t, "12/0:u32")
	for order, wantDisorder := range map[string]func(n int) bool{
		"sorted":          func(n int) bool { return n == 0 },
		"one-swap-first":  func(n int) bool { return n == 1 },
		"one-swap-middle": func(n int) bool { return n == 1 },
		"one-swap-last":   func(n int) bool { return n == 1 },
		"nearly-sorted":   func(n int) bool { return n > 0 && n < 100 },
		"reversed":        func(n int) bool { return n == 999 },
		"random":          func(n int) bool { return n > 400 && n < 600 },
		"equal":           func(n int) bool { return n == 0 },
	} {
		recs, err := Make(layout, order, 1000, rand.New(rand.NewPCG(1, 2)))
		if err != nil {
			t.Fatal(err)
		}
		disorders := 0
		for at := 12; at < len(recs); at += 12 {
			if binary.LittleEndian.Uint32(recs[at:]) < binary.LittleEndian.Uint32(recs[at-12:]) {
				disorders++
			}
		}
		if !wantDisorder(disorders) {
			t.Errorf("%s: %d records are out of order", order, disorders)
		}
	}
	if _, err := Make(layout, "odd", 1, rand.New(rand.NewPCG(1, 2))); err == nil {
		t.Error("an unknown order is accepted")
	}
}
