package devicetest

import (
	"bytes"
	"slices"
	"testing"
)

// TestSortedIsTheStableOrder compares the fast reference with the standard library's stable sort.
func TestSortedIsTheStableOrder(t *testing.T) {
	for name, l := range layouts() {
		for dist, generate := range Distributions {
			recs, k := generate(l, 300, random()), keyer(t, l)
			want := slices.Collect(slices.Chunk(recs, l.RecordSize))
			slices.SortStableFunc(want, func(a, b []byte) int {
				return bytes.Compare(k.Append(nil, a), k.Append(nil, b))
			})
			if !bytes.Equal(Sorted(l, recs), bytes.Join(want, nil)) {
				t.Errorf("%s, %s: not the stable order", name, dist)
			}
		}
	}
}
