package radix

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKeepWithin holds the assembly and the loop to what slices does.
func TestKeepWithin(t *testing.T) {
	t.Run("u32", testWithin[uint32])
	t.Run("u64", testWithin[uint64])
}

func testWithin[E Element](t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for n := range 100 {
		for _, bounds := range [][2]E{{0, ^E(0)}, {0, 0}, {5, 9}, {^E(0), ^E(0)}, {^E(0) - 7, ^E(0) - 2}, {9, ^E(0) - 9},
			{1 << 31, 1<<31 + 1}} {
			low, high := bounds[0], bounds[1]
			a := make([]E, n)
			for i := range a { // around the bounds and the ends of the range
				a[i] = []E{low, high, 0, ^E(0), E(r.Uint64())}[r.IntN(5)] + E(r.IntN(5)) - 2
			}
			want := slices.DeleteFunc(slices.Clone(a), func(e E) bool { return e < low || e > high })
			after := append(a, 77)
			if kept := KeepWithin(after[:n], low, high-low); !slices.Equal(after[:kept], want) || after[n] != 77 {
				t.Fatalf("%d elements from %d to %d: %v, want %v", n, low, high, after[:kept], want)
			}
		}
	}
}

// TestKeepWithinAllButOne has a range that begins behind a value and ends before it.
func TestKeepWithinAllButOne(t *testing.T) {
	t.Run("u32", testAllButOne[uint32])
	t.Run("u64", testAllButOne[uint64])
}

func testAllButOne[E Element](t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for n := range 100 {
		for _, values := range []int{1, 2, 3, 100} {
			a := make([]E, n)
			for i := range a {
				a[i] = ^E(0) - E(r.IntN(values))
			}
			for _, value := range []E{^E(0), ^E(0) - 1} {
				got := slices.Clone(a)
				want := slices.DeleteFunc(slices.Clone(a), func(e E) bool { return e == value })
				if kept := KeepWithin(got, value+1, ^E(0)-1); !slices.Equal(got[:kept], want) {
					t.Fatalf("%d elements, %d values: %v, want %v", n, values, got[:kept], want)
				}
			}
		}
	}
}
