package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestDistinctShare compares estimates of the number of distinct keys with random keys.
func TestDistinctShare(t *testing.T) {
	const records = 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	for _, keys := range []int{1, 16, 1000, 10_000, 100_000, 1_000_000, 1 << 40} {
		sample := make([]uint64, SampleKeys)
		for i := range sample {
			sample[i] = r.Uint64N(uint64(keys))
		}
		slices.Sort(sample)
		want := float64(keys) * -math.Expm1(-records/float64(keys)) / records
		if keys > records {
			want = 1
		}
		got := distinctShare(sample, records)
		if got < want/1.3 || got > want*1.3 {
			t.Errorf("%d keys: %.4f, want %.4f", keys, got, want)
		}
	}
	if got := distinctShare(make([]uint64, leastForDistinct-1), records); got != 1 {
		t.Errorf("a small sample: %.4f", got)
	}
}
