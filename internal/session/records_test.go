package session

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
)

// kind is a kind of record that tests sort.
type kind struct {
	name string
	spec format.Spec
}

// kinds lists records that take different code paths: bare keys of one and of two machine words,
// keys that do or do not sort in the order of their bytes, payloads, odd sizes, and keys wider than
// a word.
var kinds = []kind{
	{"u64", format.Spec{Type: "u64"}},
	{"u32be", format.Spec{Type: "u32be"}},
	{"u8", format.Spec{Type: "u8"}},
	{"u24", format.Spec{Type: "u24"}},
	{"rec9", format.Spec{RecordSize: 9, Keys: []string{"1:u48be", "7:u16"}}},
	{"i128", format.Spec{Type: "i128"}},
	{"f64", format.Spec{Type: "f64"}},
	{"f16", format.Spec{Type: "f16"}},
	{"bf16 in rec5", format.Spec{RecordSize: 5, Keys: []string{"1:bf16be:desc"}}},
	{"ucs3", format.Spec{Type: "ucs3"}},
	{"bytes3", format.Spec{Type: "bytes3"}},
	{"rec7", format.Spec{RecordSize: 7, Keys: []string{"3:u16be:desc", "0:i8"}}},
	{"rec12", format.Spec{RecordSize: 12, Keys: []string{"0:f32"}}},
	{"rec12 both", format.Spec{RecordSize: 12, Keys: []string{"0:f32", "4:u64"}}},
	{"gensort", format.Spec{Format: "gensort"}},
	{"wide key", format.Spec{RecordSize: 52, Keys: []string{"4:bytes40"}}},
}

func kindNamed(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

func (k kind) layout(t testing.TB) format.Layout {
	t.Helper()
	header, err := k.spec.NewHeader()
	if err != nil {
		t.Fatal(err)
	}
	return header.Layout()
}

// make returns n records. The bytes outside of the key contain the record's position, so that an
// unstable sort is detected.
func (k kind) make(t testing.TB, dist string, n int, r *rand.Rand) []byte {
	t.Helper()
	layout := k.layout(t)
	g, err := format.NewGenerator(layout, dist, r.Uint64(), int64(n))
	if err != nil {
		t.Fatal(err)
	}
	recs := make([]byte, n*layout.RecordSize)
	g.Fill(recs, 0)
	if dist == "uniform" {
		sprinkleFloats(layout, recs, r)
	}
	stampPositions(layout, recs)
	return recs
}

// specials lists the floats that a comparison with < puts in the wrong place.
var specials = []float64{
	math.NaN(), math.Copysign(math.NaN(), -1), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1),
	math.SmallestNonzeroFloat64, -math.MaxFloat64,
}

// sprinkleFloats puts special values into about every fifth float field.
func sprinkleFloats(l format.Layout, recs []byte, r *rand.Rand) {
	for _, f := range l.Key {
		if f.Type.Kind != format.Float || f.Type.Size < 4 {
			continue
		}
		for at := f.Offset; at < len(recs); at += l.RecordSize {
			if r.IntN(5) > 0 {
				continue
			}
			x := specials[r.IntN(len(specials))]
			if f.Type.Size == 8 {
				// Some NaNs get a payload.
				binary.LittleEndian.PutUint64(recs[at:], math.Float64bits(x)^r.Uint64N(2))
			} else {
				binary.LittleEndian.PutUint32(recs[at:], math.Float32bits(float32(x)))
			}
		}
	}
}

func stampPositions(l format.Layout, recs []byte) {
	isKey := make([]bool, l.RecordSize)
	for _, f := range l.Key {
		for i := range f.Type.Size {
			isKey[f.Offset+i] = true
		}
	}
	for i := range len(recs) / l.RecordSize {
		rec, position := recs[i*l.RecordSize:][:l.RecordSize], i
		for at := range rec {
			if !isKey[at] {
				rec[at], position = byte(position), position>>8
			}
		}
	}
}

// reference returns the expected output of a sort of recs with these options. It uses
// slices.SortStableFunc and processes one record at a time.
func reference(t testing.TB, l format.Layout, recs []byte, opt Options) []byte {
	t.Helper()
	if opt.Reverse {
		l = l.Reverse()
	}
	keyer, err := format.NewKeyer(l)
	if err != nil {
		t.Fatal(err)
	}
	type keyed struct {
		key, rec []byte
		at       int
	}
	all, keys := make([]keyed, 0, len(recs)/l.RecordSize), []byte(nil)
	for at := 0; at < len(recs); at += l.RecordSize {
		rec, start := recs[at:at+l.RecordSize], len(keys)
		keys = keyer.Append(keys, rec)
		all = append(all, keyed{keys[start:len(keys):len(keys)], rec, at})
	}
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
	if opt.Unique {
		all = slices.CompactFunc(all, func(a, b keyed) bool { return bytes.Equal(a.key, b.key) })
	}
	if opt.Limit == NoRecords {
		all = nil
	}
	if opt.Limit > 0 {
		all = all[:min(int64(len(all)), opt.Limit)]
	}
	sorted := make([]byte, 0, len(all)*l.RecordSize)
	for _, k := range all {
		sorted = append(sorted, k.rec...)
	}
	return sorted
}

// seeded returns a random number generator and logs its seed, so that a failure can be reproduced.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if *seedFlag != 0 {
		seed = *seedFlag
	}
	t.Logf("repeat with -seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// firstDifference returns the index of the first record in which got and want differ.
func firstDifference(got, want []byte, size int) (record int) {
	for i := 0; i < min(len(got), len(want)); i++ {
		if got[i] != want[i] {
			return i / size
		}
	}
	return min(len(got), len(want)) / size
}
