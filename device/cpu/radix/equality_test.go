package radix

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMajorityKeys uses samples in which some values are the majority of their bucket.
func TestMajorityKeys(t *testing.T) {
	b := NewBuckets[uint64](0, 1<<20-1, 16, 0) // each 2^16 wide
	var sample []uint64
	repeat := func(value uint64, times int) {
		sample = append(sample, slices.Repeat([]uint64{value}, times)...)
	}
	repeat(5, 100)        // bucket 0: majority
	repeat(1<<16, 30)     // bucket 1: majority, though there are others
	repeat(1<<16+7, 29)   //
	repeat(2<<16, 30)     // bucket 2: half of it is not enough
	repeat(2<<16+7, 30)   //
	repeat(3<<16, 7)      // bucket 3: too few
	for i := range 1000 { // bucket 4: all differ
		sample = append(sample, 4<<16+uint64(i))
	}
	repeat(0xfffff, 50) // bucket 15: majority
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(sample), func(i, j int) { sample[i], sample[j] = sample[j], sample[i] })
	for limit, want := range [][]uint64{nil, {5}, {5, 0xfffff}, {5, 0xfffff, 1 << 16}, {5, 0xfffff, 1 << 16}} {
		majority := MajorityKeys(sample, b, limit, 0)
		if (majority == nil) != (want == nil) {
			t.Fatalf("limit %d: %v, want %v", limit, majority, want)
		}
		for bucket, key := range majority {
			at := slices.IndexFunc(want, func(value uint64) bool { return b.BucketOf(value) == bucket })
			if counted := b.BucketOf(key) == bucket; counted != (at >= 0) || counted && key != want[at] {
				t.Errorf("limit %d: bucket %d has the key %x", limit, bucket, key)
			}
		}
	}
}
