package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/extsort/extsort/format"
)

// someFloat returns a random float, often a NaN with any sign and payload, or another special
// value.
func someFloat(r *rand.Rand) float64 {
	switch r.IntN(4) {
	case 0:
		return math.Float64frombits(0x7ff0_0000_0000_0000 | r.Uint64()<<63 | 1<<r.IntN(52))
	case 1:
		return specials[r.IntN(len(specials))]
	}
	return r.NormFloat64()
}

// TestSortNaNs sorts NaNs first or last, in both directions: 8-byte keys, and 4-byte keys in
// records of 9 bytes.
func TestSortNaNs(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	read64 := func(rec []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(rec)) }
	read32 := func(rec []byte) float64 { return float64(math.Float32frombits(binary.BigEndian.Uint32(rec[4:]))) }
	for _, c := range []struct {
		spec format.Spec
		size int
		read func(rec []byte) float64
	}{
		{format.Spec{Type: "f64"}, 8, read64},
		{format.Spec{RecordSize: 9, Keys: []string{"4:f32be:desc", "8:u8"}}, 9, read32},
	} {
		for _, n := range []int{0, 1, 2, 2500} {
			for range effort(12) {
				recs := make([]byte, n*c.size)
				for i := range n {
					rec, v := recs[i*c.size:], someFloat(r)
					if c.size == 8 {
						binary.LittleEndian.PutUint64(rec, math.Float64bits(v))
						continue
					}
					binary.LittleEndian.PutUint32(rec, uint32(i))
					binary.BigEndian.PutUint32(rec[4:], math.Float32bits(float32(v)))
				}
				opt := Options{Record: c.spec, Reverse: r.IntN(2) == 0}
				opt.Record.NaN = []string{"first", "last"}[r.IntN(2)]
				sorting := withInputs(t, variant(opt, c.size, r), recs, c.size, r)
				got, _, err := sortToBytes(t, sorting)
				if err != nil || len(got) != len(recs) {
					t.Fatalf("%s: %d of %d bytes: %v", describe(sorting), len(got), len(recs), err)
				}
				checkNaNs(t, got, recs, c.size, opt, c.read)
			}
		}
	}
}

// checkNaNs checks that the numbers are in order and that all NaNs are at the right end. It then
// checks the output with Check, and with Merge.
func checkNaNs(t *testing.T, got, recs []byte, size int, opt Options, read func([]byte) float64) {
	t.Helper()
	var want, have []float64
	for at := 0; at < len(recs); at += size {
		want, have = append(want, read(recs[at:])), append(have, read(got[at:]))
	}
	descending := opt.Reverse != (size == 9)
	sort.SliceStable(want, func(i, j int) bool {
		a, b := want[i], want[j]
		if math.IsNaN(a) || math.IsNaN(b) {
			return math.IsNaN(a) != math.IsNaN(b) && math.IsNaN(a) == (opt.Record.NaN == "first")
		}
		c := cmp.Or(cmp.Compare(a, b), cmp.Compare(1/a, 1/b)) // -0 before +0
		return c < 0 && !descending || c > 0 && descending
	})
	for i := range want {
		if want[i] != have[i] && !(math.IsNaN(want[i]) && math.IsNaN(have[i])) {
			t.Fatalf("%+v: number %d is %g, not %g", opt.Record, i, have[i], want[i])
		}
	}
	opt.Inputs = []string{writeFile(t, got)}
	if _, err := Check(t.Context(), checkOptions(opt)); err != nil {
		t.Fatal(err)
	}
	opt.Inputs = append(opt.Inputs, writeFile(t, nil))
	if merged, err := mergeToBytes(t, mergeOptions(opt)); err != nil || !bytes.Equal(merged, got) {
		t.Fatalf("a merge of what is sorted gives something else: %v", err)
	}
}
