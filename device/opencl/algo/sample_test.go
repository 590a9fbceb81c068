package algo

import (
	"math/rand/v2"
	"testing"
)

func TestLeadingBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func(n int, key func(i int) uint64) []uint64 {
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = key(i)
		}
		return keys
	}
	few := draw(100, func(int) uint64 { return rng.Uint64() })
	tests := []struct {
		name   string
		keys   []uint64
		n      int64
		lo, hi int
	}{
		{"uniform", draw(4096, func(int) uint64 { return rng.Uint64() }), 1 << 28, 31, 32},
		{"uniform, fewer keys", draw(4096, func(int) uint64 { return rng.Uint64() }), 1 << 20, 23, 24},
		{"the 24 high bits constant", draw(4096, func(int) uint64 { return rng.Uint64() >> 24 }), 1 << 28, 52, 58},
		{"small numbers", draw(4096, func(int) uint64 { return rng.Uint64N(1000) }), 1 << 28, 64, 64},
		{"a sequence", draw(4096, func(i int) uint64 { return uint64(i) << 16 }), 1 << 28, 40, 60},
		{"a hundred values", draw(4096, func(int) uint64 { return few[rng.IntN(100)] }), 1 << 28, 8, 24},
		{"one value", draw(4096, func(int) uint64 { return 7 }), 1 << 28, 64, 64},
		{"two values", draw(4096, func(int) uint64 { return rng.Uint64N(2) << 63 }), 1 << 28, 1, 8},
		{"no key", nil, 0, 64, 64},
	}
	for _, tt := range tests {
		if got := leadingBits(tt.keys, 64, tt.n); got < tt.lo || got > tt.hi {
			t.Errorf("%s: %d bits, want %d to %d", tt.name, got, tt.lo, tt.hi)
		}
	}
}
