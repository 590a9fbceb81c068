package radix

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRadixTwins compares the assembly with the loops in Go.
func TestRadixTwins(t *testing.T) {
	t.Run("u32", testRadixTwins[uint32])
	t.Run("u64", testRadixTwins[uint64])
}

func testRadixTwins[E Element](t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 40 {
		for range 20 {
			block := make([]E, n)
			for i := range block {
				block[i] = E(r.Uint64())
			}
			low := E(r.Uint64())
			digit := 1 + uint(r.IntN(DigitBits))
			shift := uint(r.IntN(int(lastBit[E]()+1-digit) + 1))
			above := min(digit, lastBit[E]()-shift)
			var fast, loop, fastNext, loopNext [digits]uint64
			countTwo(block, low, shift, above, &fast, &fastNext)
			countTwoLoop(block, low, shift, above, &loop, &loopNext)
			if fast != loop || fastNext != loopNext {
				t.Fatalf("%d elements, digits of %d bits from %d: the counts differ", n, above, shift)
			}
			var counts, places [digits]uint64
			countOne(block, low, shift, digit, &counts)
			exclusiveScan(&counts, uint64(n+1))
			places = counts
			a, b := make([]E, n), make([]E, n)
			moveBlock(a, block, low, shift, digit, &counts)
			moveLoop(b, block, low, shift, digit, &places)
			if !slices.Equal(a, b) || counts != places {
				t.Fatalf("%d elements, digit of %d bits from %d: moved to %v, want %v", n, digit, shift, a, b)
			}
		}
	}
}

func TestRadixSort(t *testing.T) {
	t.Run("u32", testRadixSort[uint32])
	t.Run("u64", testRadixSort[uint64])
}

func testRadixSort[E Element](t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	generate := map[string]func(i int) E{
		"uniform":     func(int) E { return E(r.Uint64()) },
		"equal":       func(int) E { return 77 },
		"two":         func(i int) E { return E(i%2) << 20 },
		"low":         func(int) E { return E(r.IntN(1000)) },
		"exponential": func(int) E { return E(r.Uint64()) >> r.IntN(int(lastBit[E]()+1)) },
		"outlier": func(i int) E {
			if i == 50 {
				return ^E(0)
			}
			return E(r.IntN(100_000))
		},
		"even":     func(i int) E { return E(i) * 64 },
		"reversed": func(i int) E { return ^E(i) },
		"nearly": func(i int) E {
			if r.IntN(20) == 0 {
				return E(r.IntN(1 << 24))
			}
			return E(i) * 64
		},
		"only at first": func(i int) E {
			if i < 3000 {
				return E(i)
			}
			return E(r.Uint64())
		},
		"saw":       func(i int) E { return E(i % 1000) },
		"topAndLow": func(i int) E { return E(i%3)<<(lastBit[E]()-1) + E(r.IntN(5000)) },
	}
	var rx Sorter[E]
	for name, value := range generate {
		for _, n := range []int{1, 2, smallSort, smallSort + 1, 100, 512, 513, 5000, 1 << 17, 1<<18 + 1} {
			a := make([]E, n)
			for i := range a {
				a[i] = value(i)
			}
			want := slices.Sorted(slices.Values(a))
			dst, tmp := make([]E, n), make([]E, n)
			rx.Sort(dst, tmp, [][]E{a[:n/3+1], a[n/3+1:]}[:min(2, n)], SpanOf(MinMax(a)))
			if !slices.Equal(dst, want) {
				t.Fatalf("%s: %d elements are not in order", name, n)
			}
			rx.SortInPlace(a, tmp)
			if !slices.Equal(a, want) {
				t.Fatalf("%s: %d elements are not in order in place", name, n)
			}
		}
	}
}

func FuzzRadix(f *testing.F) {
	f.Add([]byte("sorting is what computers are for, and has been since there are any"))
	f.Add(make([]byte, 1000))
	var r32 Sorter[uint32]
	var r64 Sorter[uint64]
	f.Fuzz(func(t *testing.T, data []byte) {
		for len(data) > 0 && len(data) < 8*300 {
			data = append(data, data...)
		}
		a, b := make([]uint32, len(data)/4), make([]uint64, len(data)/8)
		for i := range a {
			a[i] = binary.LittleEndian.Uint32(data[4*i:])
		}
		for i := range b {
			b[i] = binary.BigEndian.Uint64(data[8*i:])
		}
		wantA, wantB := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
		r32.SortInPlace(a, make([]uint32, len(a)))
		r64.SortInPlace(b, make([]uint64, len(b)))
		if !slices.Equal(a, wantA) || !slices.Equal(b, wantB) {
			t.Errorf("not in order: %x and %x", a, b)
		}
	})
}

// BenchmarkRadix sorts elements in the cache, both partially ordered and random.
func BenchmarkRadix(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	const n = 1 << 16
	for name, value := range map[string]func(i int) uint64{
		"uniform":  func(int) uint64 { return r.Uint64() },
		"even":     func(i int) uint64 { return 64 * uint64(i) },
		"reversed": func(i int) uint64 { return 64 * uint64(n-i) },
		"nearly": func(i int) uint64 {
			if r.IntN(100) == 0 {
				return r.Uint64N(64 * n)
			}
			return 64 * uint64(i)
		},
	} {
		a := make([]uint64, n)
		for i := range a {
			a[i] = value(i)
		}
		dst, tmp, s := make([]uint64, n), make([]uint64, n), SpanOf(MinMax(a))
		var rx Sorter[uint64]
		b.Run("dist="+name, func(b *testing.B) {
			for b.Loop() {
				rx.Sort(dst, tmp, [][]uint64{a}, s)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/key")
		})
	}
}

// TestBackoff counts the leaves that are sorted without cells after leaves that suit no cells. A
// leaf that suits them ends that.
func TestBackoff(t *testing.T) {
	var c backoff
	for _, want := range []int{1, 3, 7, 15, 31, 63, 63} {
		c.noteCells(true)
		skipped := 0
		for c.skipsCells() {
			skipped++
		}
		if skipped != want {
			t.Errorf("%d leaves are sorted without cells, want %d", skipped, want)
		}
	}
	c.noteCells(false)
	if c.skipsCells() {
		t.Error("a leaf is sorted without cells although the one before suited them")
	}
}
