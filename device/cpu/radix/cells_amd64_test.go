package radix

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// withoutOctets runs a test like on a processor that cannot sort octets.
func withoutOctets(t *testing.T, test func(t *testing.T)) {
	defer func(had bool) { hasVectors = had }(hasVectors)
	hasVectors = false
	test(t)
}

// askingAhead runs a test with and without prefetching of lines, which depends on the processor.
func askingAhead(t *testing.T, test func(t *testing.T)) {
	defer func(before int) { unprefetched = before }(unprefetched)
	for _, unprefetched = range []int{neverPrefetch, prefetchAhead} {
		t.Run(fmt.Sprintf("ahead=%t", unprefetched == prefetchAhead), test)
	}
}

func TestRadixTwinsAhead(t *testing.T) {
	askingAhead(t, testRadixTwins[uint32])
	askingAhead(t, testRadixTwins[uint64])
}

func TestRadixSortAhead(t *testing.T) {
	askingAhead(t, testRadixSort[uint32])
	askingAhead(t, testRadixSort[uint64])
}

func TestRadixSortWithoutOctets(t *testing.T) { withoutOctets(t, testRadixSort[uint64]) }

// TestCells compares the assembly for cells with straightforward Go code.
func TestCells(t *testing.T) {
	if !hasVectors {
		t.Skip("this processor cannot sort octets")
	}
	askingAhead(t, testCells)
}

func testCells(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for n := range 300 {
		block := randomWords(r, n)
		low, digit := r.Uint64(), 4+r.IntN(cellBits-3)
		shift := uint(r.IntN(65 - digit))
		control := uint64(shift) | uint64(digit)<<8
		cell := func(e uint64) uint64 { return (e - low) >> shift & (1<<digit - 1) }

		counts, want := make([]uint32, 1<<digit), make([]uint32, 1<<digit)
		countCells(block, low, control, &counts[0])
		for _, e := range block {
			want[cell(e)]++
		}
		if !slices.Equal(counts, want) {
			t.Fatalf("%d elements, digits of %d bits from %d: the counts differ", n, digit, shift)
		}

		squares, wantSquares := scanCells(&counts[0], len(counts)), uint64(0)
		sum := uint32(0)
		for i, count := range want {
			want[i] = sum
			sum += count
			wantSquares += uint64(count) * uint64(count)
		}
		if !slices.Equal(counts, want) || squares != wantSquares {
			t.Fatalf("%d elements, digits of %d bits from %d: %d squares of counters, want %d; scanned to %v", n, digit,
				shift, squares, wantSquares, counts)
		}

		moved, want64 := make([]uint64, n+1), slices.Clone(block)
		moveAll(moved, [][]uint64{block[:n/3], block[n/3:]}, low, control, &counts[0])
		byCell := func(a, b uint64) int { return cmp.Compare(cell(a), cell(b)) }
		if !slices.IsSortedFunc(moved[:n], byCell) || moved[n] != 0 {
			t.Fatalf("%d elements, digits of %d bits from %d: moved to %v, which is not by cells", n, digit, shift, moved)
		}
		moved = moved[:n]
		slices.Sort(moved)
		if slices.Sort(want64); !slices.Equal(moved, want64) {
			t.Fatalf("%d elements, digits of %d bits from %d: moved are %v, want %v", n, digit, shift, moved, want64)
		}
	}
}

// TestScanCellsOfMany uses counters that are too large to be squared.
func TestScanCellsOfMany(t *testing.T) {
	if !hasVectors {
		t.Skip("this processor cannot sort octets")
	}
	counts := make([]uint32, 32)
	counts[3], counts[4], counts[31] = 5, maxInCells-105, 100
	const want = 5*5 + 8191*8191 + 100*100
	if squares := scanCells(&counts[0], len(counts)); squares != want {
		t.Errorf("%d squares, want %d", squares, want)
	}
	for i, at := range counts {
		if want := [...]uint32{0, 5, maxInCells - 100}[min(max(i-3, 0), 2)]; at != want {
			t.Errorf("cell %d begins at %d, want %d", i, at, want)
		}
	}
}

// TestSortOctets compares with octets that package slices sorts, in place and not, including the
// largest possible element.
func TestSortOctets(t *testing.T) {
	if !hasVectors {
		t.Skip("this processor cannot sort octets")
	}
	r := rand.New(rand.NewPCG(15, 16))
	for n := octetEdge + 1; n < 5*octetGroup; n++ {
		src := randomWords(r, n)
		for range r.IntN(3) {
			src[r.IntN(n)] = ^uint64(0)
		}
		want := slices.Clone(src)
		slices.Sort(want[:octetEdge])
		for _, start := range []int{octetEdge, 0} {
			for at := start; at < n; at += octet {
				slices.Sort(want[at:min(at+octet, n)])
			}
		}
		got := make([]uint64, n+1)
		sortOctets(got[:n], slices.Clone(src))
		if sortOctets(src, src); !slices.Equal(got[:n], want) || !slices.Equal(src, want) || got[n] != 0 {
			t.Fatalf("%d elements: sorted to\n%x, in place to\n%x, want\n%x", n, got, src, want)
		}
	}
}

func randomWords(r *rand.Rand, n int) []uint64 {
	a := make([]uint64, n)
	for i := range a {
		a[i] = r.Uint64() >> (32 * (i % 2))
	}
	return a
}

// FuzzCells sorts elements of few and of many bits, with cells and without.
func FuzzCells(f *testing.F) {
	f.Add(uint64(1), uint16(500), uint8(64), uint8(0))
	f.Add(uint64(2), uint16(5000), uint8(13), uint8(3))
	f.Add(uint64(3), uint16(60000), uint8(20), uint8(200))
	f.Add(uint64(4), uint16(60000), uint8(64), uint8(0))
	f.Add(uint64(5), uint16(60000), uint8(50), uint8(128))
	f.Fuzz(func(t *testing.T, seed uint64, n uint16, width, majority uint8) {
		r := rand.New(rand.NewPCG(seed, 17))
		a := make([]uint64, max(2*int(n), 1)) // sometimes more than partsThreshold
		value := r.Uint64()
		for i := range a {
			if a[i] = r.Uint64() >> (64 - min(width, 64)); r.IntN(256) < int(majority) {
				a[i] = value >> r.IntN(4)
			}
		}
		cut := r.IntN(len(a)) + 1
		sorted := func() []uint64 {
			var rx Sorter[uint64]
			dst, tmp := make([]uint64, len(a)), make([]uint64, len(a))
			rx.Sort(dst, tmp, [][]uint64{a[:cut], a[cut:]}, SpanOf(MinMax(a)))
			return dst
		}
		fast := sorted()
		withoutOctets(t, func(t *testing.T) {
			if !slices.Equal(fast, sorted()) {
				t.Errorf("%d elements of %d bits: with cells in another order than without", n, width)
			}
		})
	})
}

func TestAllButOneWithoutOctets(t *testing.T) {
	withoutOctets(t, testAllButOne[uint64])
	withoutOctets(t, testAllButOne[uint32])
}

// TestKeepWithinLoop is TestKeepWithin without vector instructions.
func TestKeepWithinLoop(t *testing.T) {
	withoutOctets(t, testWithin[uint64])
	withoutOctets(t, testWithin[uint32])
}
