package sift

import (
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// BenchmarkSift selects the staying records of a block of 64-bit keys. One key in 128 is at a
// random position.
func BenchmarkSift(b *testing.B) {
	const n = 1 << 15
	k := formattest.Keyer(b, format.Spec{RecordSize: 8, Keys: []string{"0:u64"}})
	g := formattest.Generator(b, k.Layout(), "nearly-sorted", 1, n)
	v := newView(k, n)
	g.Fill(v.recs, 0)
	b.SetBytes(8 * n)
	for b.Loop() {
		v.examine(0, n)
		v.selectStaying(nil, nil)
	}
}
