package merge

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestTwoWayBothWays merges with and without vector instructions.
func TestTwoWayBothWays(t *testing.T) {
	defer func(had bool) { hasVectors = had }(hasVectors)
	r := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		lists := [2][]uint64{make([]uint64, r.IntN(3000)), make([]uint64, r.IntN(3000))}
		shift := r.IntN(64)
		for _, list := range lists {
			for i := range list {
				list[i] = r.Uint64() >> shift
			}
			slices.Sort(list)
		}
		want := slices.Sorted(slices.Values(slices.Concat(lists[0], lists[1])))
		for _, hasVectors = range []bool{false, hasVectors} {
			got := make([]uint64, len(want))
			if mergeKeys(got, lists[0], lists[1]); !slices.Equal(got, want) {
				t.Fatalf("%d and %d keys of %d bits, vectors %t: wrong order",
					len(lists[0]), len(lists[1]), 64-shift, hasVectors)
			}
		}
	}
}

// TestVectorEndsOffsets checks that the fields have the offsets that the assembly uses.
func TestVectorEndsOffsets(t *testing.T) {
	var e vectorEnds
	for want, got := range []uintptr{
		unsafe.Offsetof(e.aFrom), unsafe.Offsetof(e.aLast), unsafe.Offsetof(e.bFrom), unsafe.Offsetof(e.bLast),
		unsafe.Offsetof(e.dstFrom), unsafe.Offsetof(e.dstLast),
	} {
		if got != 8*uintptr(want) {
			t.Errorf("field %d is at byte %d", want, got)
		}
	}
}
