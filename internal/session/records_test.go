package session

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/sorttest"
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
	header := formattest.Header(t, k.spec)
	return header.Layout()
}

// make returns n records. The bytes outside of the key contain the record's position, so that an
// unstable sort is detected.
func (k kind) make(t testing.TB, order string, n int, r *rand.Rand) []byte {
	t.Helper()
	if order == "uniform" {
		order = "random"
	}
	recs, err := sorttest.Make(k.layout(t), order, n, r)
	if err != nil {
		t.Fatal(err)
	}
	return recs
}

// reference returns the expected output of a sort of recs with these options.
func reference(t testing.TB, l format.Layout, recs []byte, opt Options) []byte {
	t.Helper()
	return sorttest.NewReference(l, recs, sorttest.Selection{
		Reverse:    opt.Reverse,
		Unique:     opt.Unique,
		KeepLast:   opt.Keep == "last",
		Count:      opt.Count,
		Duplicates: opt.Duplicates,
		Limit:      opt.Limit,

		ArgsortBytes: argsortBytes[opt.Argsort],
	}).Bytes
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
