package plan

import (
	"math/rand/v2"
	"testing"
)

// TestLongestRise compares longestRise with a search of all pairs of keys, for few and for many
// different keys.
func TestLongestRise(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	for range 500 {
		keys := make([]uint64, r.IntN(40))
		for i := range keys {
			keys[i] = r.Uint64N(30)
		}
		if got, want := longestRise(keys), longestRiseOfPairs(keys); got != want {
			t.Fatalf("%v: %d keys, want %d", keys, got, want)
		}
	}
}

// longestRiseOfPairs takes quadratic time.
func longestRiseOfPairs(keys []uint64) int {
	longest := 0
	upTo := make([]int, len(keys)) // the longest subsequence that ends with key i
	for i, key := range keys {
		upTo[i] = 1
		for j := range i {
			if keys[j] <= key {
				upTo[i] = max(upTo[i], upTo[j]+1)
			}
		}
		longest = max(longest, upTo[i])
	}
	return longest
}
