package radix

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWithin holds the assembly to the loop, in place and from one slice to another.
func TestWithin(t *testing.T) {
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
			apart := make([]E, n+1)
			if kept := Within(apart[:n], a, low, high-low); !slices.Equal(apart[:kept], want) || apart[n] != 0 {
				t.Fatalf("%d elements from %d to %d: %v, want %v", n, low, high, apart[:kept], want)
			}
			if kept := Within(a, a, low, high-low); !slices.Equal(a[:kept], want) {
				t.Fatalf("%d elements from %d to %d, in place: %v, want %v", n, low, high, a[:kept], want)
			}
		}
	}
}

// TestWithout holds the assembly to the loop, in place and from one slice to another.
func TestWithout(t *testing.T) {
	t.Run("u32", testWithout[uint32])
	t.Run("u64", testWithout[uint64])
}

func testWithout[E Element](t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for n := range 100 {
		for _, values := range []int{1, 2, 3, 100} {
			a := make([]E, n)
			for i := range a {
				a[i] = ^E(0) - E(r.IntN(values))
			}
			want := slices.DeleteFunc(slices.Clone(a), func(e E) bool { return e == ^E(0) })
			apart := make([]E, n+1)
			if kept := Without(apart[:n], a, ^E(0)); !slices.Equal(apart[:kept], want) || apart[n] != 0 {
				t.Fatalf("%d elements, %d values: %v, want %v", n, values, apart[:kept], want)
			}
			if kept := Without(a, a, ^E(0)); !slices.Equal(a[:kept], want) {
				t.Fatalf("%d elements, %d values, in place: %v, want %v", n, values, a[:kept], want)
			}
		}
	}
}
