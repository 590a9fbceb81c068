// Package formattest makes headers, keyers, layouts and sorted records for tests.
//
// Only the root package of this module is stable: this package may change in any version.
package formattest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
)

// Header returns the description of records that a spec describes without a file.
func Header(t testing.TB, spec format.Spec) *format.Header {
	t.Helper()
	header, err := spec.NewHeader()
	if err != nil {
		t.Fatal(err)
	}
	return header
}

// Keyer returns the keyer of records that a spec describes without a file.
func Keyer(t testing.TB, spec format.Spec) *format.Keyer {
	t.Helper()
	return KeyerOf(t, Header(t, spec).Layout())
}

// KeyerOf returns the keyer of a layout.
func KeyerOf(t testing.TB, l format.Layout) *format.Keyer {
	t.Helper()
	k, err := format.NewKeyer(l)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Bare returns the layout of bare values of a type, such as "u64".
func Bare(t testing.TB, name string) format.Layout {
	t.Helper()
	typ, err := format.ParseType(name)
	if err != nil {
		t.Fatal(err)
	}
	return format.Bare(typ)
}

// Fields returns a layout with key fields such as "0:u64:desc".
func Fields(t testing.TB, recordSize int, fields ...string) format.Layout {
	t.Helper()
	l := format.Layout{RecordSize: recordSize}
	for _, text := range fields {
		f, err := format.ParseField(text)
		if err != nil {
			t.Fatal(err)
		}
		l.Key = append(l.Key, f)
	}
	return l
}

// Sorted returns records in stable order, sorted by the standard library.
func Sorted(k *format.Keyer, recs []byte) []byte {
	list := slices.Collect(slices.Chunk(recs, k.Layout().RecordSize))
	slices.SortStableFunc(list, k.Compare)
	return bytes.Join(list, nil)
}

// Random returns a source of random numbers with a new seed, which it logs.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
