package radix

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestNumberings holds every way to number buckets that this processor has to their definition.
func TestNumberings(t *testing.T) {
	t.Run("u32/shifts", func(t *testing.T) { testNumbering(t, numberings32(false, false, hasShifts)) })
	t.Run("u32/narrow", func(t *testing.T) { testNumbering(t, numberings32(false, hasNarrowNumbers, false)) })
	t.Run("u32/wide", func(t *testing.T) { testNumbering(t, numberings32(hasWideNumbers, false, false)) })
	t.Run("u64/shifts", func(t *testing.T) { testNumbering(t, numberings64(false, false, hasShifts)) })
	t.Run("u64/narrow", func(t *testing.T) { testNumbering(t, numberings64(false, hasNarrowNumbers, false)) })
	t.Run("u64/wide", func(t *testing.T) { testNumbering(t, numberings64(hasWideNumbers, false, false)) })
}

func testNumbering[E Element](t *testing.T, all [kinds]numbering[E]) {
	if !slices.ContainsFunc(all[:], func(way numbering[E]) bool { return way.step > 0 }) {
		t.Skip("not on this processor")
	}
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 1, 7, 8, 9, 100} {
		for range 10 { // other ranges
			eachCut(t, r, n, func(t *testing.T, b Buckets[E], elems []E) {
				way := all[kindOf(&b)]
				got := slices.Repeat([]uint32{77}, n+1)
				done := way.do(&b, got[:n], word[E](elems), n)
				want := numbered(&b, elems)[:done]
				if !slices.Equal(got[:done], want) || slices.ContainsFunc(got[done:],
					func(number uint32) bool { return number != 77 }) {
					t.Fatalf("%d of %d elements: their buckets are %v, want %v", done, n, got, want)
				}
				if way.step > 0 && n-done >= way.step {
					t.Errorf("%d of %d elements were done, in steps of %d", done, n, way.step)
				}
			})
		}
	}
}
