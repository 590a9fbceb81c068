package merge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sortedLists returns all sorted lists of n of the three values.
func sortedLists(n int) [][]uint64 {
	var lists [][]uint64
	for zeros := range n + 1 {
		for ones := range n - zeros + 1 {
			list := slices.Concat(make([]uint64, zeros), slices.Repeat([]uint64{1}, ones),
				slices.Repeat([]uint64{math.MaxUint64}, n-zeros-ones))
			lists = append(lists, list)
		}
	}
	return lists
}

func withRefs(keys []uint64, input ref) sequence {
	s := sequence{keys: keys, refs: make([]ref, len(keys))}
	for i := range s.refs {
		s.refs[i] = input<<32 | ref(i)
	}
	return s
}

// TestTwoWayExhaustively merges all short lists of few values, including the lowest and the highest
// one. This covers every way in which the two ends can meet.
func TestTwoWayExhaustively(t *testing.T) {
	for na := range 7 {
		for nb := range 7 {
			for _, a := range sortedLists(na) {
				for _, b := range sortedLists(nb) {
					checkTwoWay(t, a, b)
				}
			}
		}
	}
}

func checkTwoWay(t *testing.T, a, b []uint64) {
	t.Helper()
	want := slices.Concat(a, b)
	slices.Sort(want)
	keys := make([]uint64, len(want))
	mergeKeys(keys, a, b)
	if !slices.Equal(keys, want) {
		t.Fatalf("%v and %v become %v", a, b, keys)
	}
	for _, bFirst := range []bool{false, true} {
		out := sequence{keys: make([]uint64, len(want)), refs: make([]ref, len(want))}
		var tie func(ra, rb ref) bool
		if bFirst {
			tie = func(_, _ ref) bool { return true }
		}
		mergeRefs(out, withRefs(a, 0), withRefs(b, 1), tie)
		if !slices.Equal(out.keys, want) {
			t.Fatalf("%v and %v become %v", a, b, out.keys)
		}
		for i, r := range out.refs {
			if source := [][]uint64{a, b}[r>>32]; source[uint32(r)] != out.keys[i] {
				t.Fatalf("%v and %v: reference %x has not moved with its key", a, b, r)
			}
			if i > 0 && want[i-1] == want[i] && (out.refs[i-1] > r) != (bFirst && out.refs[i-1]>>32 == 1 && r>>32 == 0) {
				t.Fatalf("%v and %v: equal keys in the order %x", a, b, out.refs)
			}
		}
	}
}

// FuzzTwoWay merges lists of random lengths, with keys of few or of many bits. In some cases one
// list ends before the other begins, or lies within a gap of the other.
func FuzzTwoWay(f *testing.F) {
	f.Add(uint64(1), uint16(1000), uint16(1000), uint8(64), uint8(64))
	f.Add(uint64(2), uint16(64), uint16(5000), uint8(3), uint8(3))
	f.Add(uint64(3), uint16(777), uint16(778), uint8(0), uint8(1))
	f.Add(uint64(4), uint16(2000), uint16(130), uint8(64), uint8(40))
	f.Fuzz(func(t *testing.T, seed uint64, na, nb uint16, aBits, bBits uint8) {
		r := rand.New(rand.NewPCG(seed, 1))
		list := func(n uint16, bits uint8) []uint64 {
			offset := r.Uint64() >> r.IntN(64)
			keys := make([]uint64, n%8192)
			for i := range keys {
				keys[i] = r.Uint64()>>(64-min(bits, 64)) + offset
			}
			slices.Sort(keys)
			return keys
		}
		a, b := list(na, aBits), list(nb, bBits)
		if seed%3 == 0 && len(b) > 0 {
			b[len(b)-1] = math.MaxUint64
		}
		want := slices.Sorted(slices.Values(slices.Concat(a, b)))
		got := make([]uint64, len(want)+1)
		if mergeKeys(got, a, b); !slices.Equal(got[:len(want)], want) || got[len(want)] != 0 {
			t.Errorf("%d and %d keys: wrong order", len(a), len(b))
		}
	})
}

// BenchmarkTwoWay merges two lists in cache.
func BenchmarkTwoWay(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1 << 6, 1 << 8, 1 << 10, 1 << 13} {
		lists := [2][]uint64{make([]uint64, n), make([]uint64, n)}
		for _, list := range lists {
			for i := range list {
				list[i] = r.Uint64()
			}
			slices.Sort(list)
		}
		dst := make([]uint64, 2*n)
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			for b.Loop() {
				mergeKeys(dst, lists[0], lists[1])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(2*n), "ns/key")
		})
	}
}
