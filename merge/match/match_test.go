package match

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomKeys returns up to n sorted keys with few values.
func randomKeys(r *rand.Rand, n int, values uint64, distinct bool) []uint64 {
	keys := make([]uint64, r.IntN(n+1))
	shift := r.IntN(2) * 63 // keys with the top bit set are unsigned
	for i := range keys {
		keys[i] = r.Uint64N(values) ^ 1<<shift
	}
	slices.Sort(keys)
	if distinct {
		keys = slices.Compact(keys)
	}
	return keys
}

// marksOf returns the marks of the keys of a that b has.
func marksOf(a, b []uint64) []byte {
	marks := make([]byte, len(a))
	for i, key := range a {
		if slices.Contains(b, key) {
			marks[i] = 1
		}
	}
	return marks
}

// TestMark compares the marks, with and without vector instructions, with those of a simple search.
func TestMark(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 4))
	for round := range 3000 {
		distinct := round%2 == 0
		values := 1 + r.Uint64N(120)
		a := randomKeys(r, 70, values, r.IntN(2) == 0)
		b := randomKeys(r, 70, values, distinct)
		wantA := marksOf(a, b)
		wantB := marksOf(b, a)
		for _, vectors := range withAndWithoutVectors(t) {
			ofA := make([]byte, len(a))
			ofB := make([]byte, len(b))
			Mark(ofA, ofB, a, b)
			if !slices.Equal(ofA, wantA) {
				t.Fatalf("vectors %t: the marks of %v and %v are %v, want %v", vectors, a, b, ofA, wantA)
			}
			if distinct && !slices.Equal(ofB, wantB) {
				t.Fatalf("vectors %t: the marks of %v beside %v are %v, want %v", vectors, b, a, ofB, wantB)
			}
			once := make([]byte, len(a))
			MarkOnce(once, a, b)
			MarkOnce(once, a, b[:len(b)/2])
			if want := onceOf(a, b, b[:len(b)/2]); !slices.Equal(once, want) {
				t.Fatalf("the marks, once for each of %v in %v, are %v, want %v", b, a, once, want)
			}
			checkOrder(t, a)
			shuffled := slices.Clone(a)
			r.Shuffle(len(a), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			checkOrder(t, shuffled)
		}
		checkUses(t, a, wantA)
	}
}

// onceOf marks one key of a for each key of the lists, one after another.
func onceOf(a []uint64, lists ...[]uint64) []byte {
	marks := make([]byte, len(a))
	for _, key := range slices.Concat(lists...) {
		for i := range a {
			if a[i] == key && marks[i] == 0 {
				marks[i] = 1
				break
			}
		}
	}
	return marks
}

func checkOrder(t *testing.T, keys []uint64) {
	t.Helper()
	wantLess, wantEqual := false, false
	for i := 1; i < len(keys); i++ {
		wantLess = wantLess || keys[i] < keys[i-1]
		wantEqual = wantEqual || keys[i] == keys[i-1]
	}
	if less, equal := Order(keys); less != wantLess || equal != wantEqual {
		t.Fatalf("the order of %v: descends %t, repeats %t, want %t, %t", keys, less, equal, wantLess, wantEqual)
	}
}

// checkUses checks the functions that use marks.
func checkUses(t *testing.T, keys []uint64, marks []byte) {
	t.Helper()
	for _, want := range []byte{0, 1} {
		var indexes, stretches []uint32
		var kept []uint64
		for i, mark := range marks {
			if mark == want {
				indexes = append(indexes, uint32(i))
				kept = append(kept, keys[i])
			}
		}
		dst := make([]uint64, len(keys))
		refs := make([]uint32, len(keys))
		if n := Keep(dst, keys, marks, want); !slices.Equal(dst[:n], kept) {
			t.Fatalf("Keep: %v of %v by %v", dst[:n], keys, marks)
		}
		if n := Indexes(refs, marks, want); !slices.Equal(refs[:n], indexes) {
			t.Fatalf("Indexes: %v of %v", refs[:n], marks)
		}
		for at := 0; at < len(marks); {
			from, to := Stretch(marks[at:], want)
			for i := at + from; i < at+to; i++ {
				stretches = append(stretches, uint32(i))
			}
			at += to
		}
		if !slices.Equal(stretches, indexes) {
			t.Fatalf("Stretch: %v of %v", stretches, marks)
		}
		if want == 1 && Count(marks) != len(indexes) {
			t.Fatalf("Count: %d of %v", Count(marks), marks)
		}
	}
}

// BenchmarkMark compares lists of random keys, half of which are shared.
func BenchmarkMark(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 16 << 10
	var lists [2][]uint64
	for range n / 2 {
		key := r.Uint64()
		lists[0] = append(lists[0], key, r.Uint64())
		lists[1] = append(lists[1], key, r.Uint64())
	}
	slices.Sort(lists[0])
	slices.Sort(lists[1])
	ofA, ofB := make([]byte, n), make([]byte, n)
	dst := make([]uint64, n)
	refs := make([]uint32, n)
	for name, f := range map[string]func(){
		"Mark":    func() { Mark(ofA, ofB, lists[0], lists[1]) },
		"Words":   func() { markWords(ofA, ofB, lists[0], lists[1]) },
		"Keep":    func() { Keep(dst, lists[0], ofA, 1) },
		"Indexes": func() { Indexes(refs, ofA, 1) },
		"Order":   func() { Order(lists[0]) },
		"Count":   func() { Count(ofA) },
	} {
		b.Run(fmt.Sprint(name), func(b *testing.B) {
			b.SetBytes(n * 8)
			for b.Loop() {
				f()
			}
		})
	}
}
