package chunker

import (
	"encoding/binary"
	"sort"
	"testing"
)

// TestShuffleIsUniform counts the 120 orders of 5 records over 12,000 seeds; the expected count
// is 100 each. Chi-square with 119 degrees of freedom exceeds 183 with probability 1/10,000, and
// is below 70 with the same probability.
func TestShuffleIsUniform(t *testing.T) {
	const seeds, orders, size = 12_000, 120, 1 + ShuffleKeyBytes
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		made := make([]byte, 5*size)
		Shuffled(1, seed).apply(made, []byte("abcde"), 0)
		at := []int{0, size, 2 * size, 3 * size, 4 * size}
		sort.SliceStable(at, func(i, j int) bool {
			return binary.LittleEndian.Uint64(made[at[i]:]) < binary.LittleEndian.Uint64(made[at[j]:])
		})
		order := ""
		for _, p := range at {
			order += string(made[p+ShuffleKeyBytes])
		}
		seen[order]++
	}
	chi := 0.0
	for _, n := range seen {
		chi += float64((n-seeds/orders)*(n-seeds/orders)) / (seeds / orders)
	}
	if chi += float64((orders - len(seen)) * seeds / orders); len(seen) > orders || chi > 183 || chi < 70 {
		t.Errorf("%d orders, chi-square is %.1f", len(seen), chi)
	}
	t.Logf("%d orders, chi-square is %.1f", len(seen), chi)
}
