package merge

import (
	"math"
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

// TestTwoWayExhaustively merges all short lists of few values, lowest and highest included: every way in which
// the two ends can meet.
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
