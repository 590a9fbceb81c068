package cpu

import "math/bits"

const (
	digitBits   = 11 // of a pass at most: its counters, 8 KiB, fit in L1 beside what is read
	maxPasses   = 6  // 64 bits in digits of 11
	countsBytes = maxPasses * (1 << digitBits) * 4

	smallSort = 32 // elements that insertion sorts
)

// radix sorts elements in cache, by counting digits.
type radix struct {
	counts [maxPasses][1 << digitBits]uint32
	passes int // most passes that any elements took
}

// sorted sorts a with the help of tmp, which is as long: the result is in one of them, the other is returned too.
func sorted[E element](r *radix, a, tmp []E) (result, rest []E) {
	if len(a) <= smallSort {
		insertionSort(a)
		return a, tmp
	}
	low, high := minMax(a)
	if low == high {
		return a, tmp
	}
	width := bits.Len64(uint64(high - low))
	need := bits.Len(uint(len(a))) + 6 // random keys: one in 64 neighbours ties
	if width <= need+digitBits/2 {
		return lsd(r, a, tmp, low, 0, width)
	}
	a, tmp = lsd(r, a, tmp, low, uint(width-need), need)
	if repair(a) {
		return a, tmp
	}
	return lsd(r, a, tmp, low, 0, width)
}

// sortInPlace sorts a with the help of tmp, which is as long.
func sortInPlace[E element](r *radix, a, tmp []E) {
	if result, _ := sorted(r, a, tmp); &result[0] != &a[0] {
		copy(a, result)
	}
}

// lsd sorts by the width bits of the differences from low that start at shift, least significant digit first.
func lsd[E element](r *radix, a, tmp []E, low E, shift uint, width int) (result, rest []E) {
	passes := (width + digitBits - 1) / digitBits
	digit := uint((width + passes - 1) / passes)
	mask := E(1)<<digit - 1
	r.passes = max(r.passes, passes)
	for pass := range passes {
		at := shift + uint(pass)*digit
		counts := r.counts[pass][:mask+1]
		clear(counts)
		for _, e := range a {
			counts[(e-low)>>at&mask]++
		}
		if int(counts[(a[0]-low)>>at&mask]) == len(a) {
			continue // constant digit
		}
		exclusiveScan(counts)
		for _, e := range a {
			d := (e - low) >> at & mask
			tmp[counts[d]] = e
			counts[d]++
		}
		a, tmp = tmp, a
	}
	return a, tmp
}

func exclusiveScan(counts []uint32) {
	sum := uint32(0)
	for i, n := range counts {
		counts[i] = sum
		sum += n
	}
}

func minMax[E element](a []E) (low, high E) {
	low, high = a[0], a[0]
	for _, e := range a {
		low, high = min(low, e), max(high, e)
	}
	return low, high
}

func insertionSort[E element](a []E) {
	for i := 1; i < len(a); i++ {
		e, j := a[i], i
		for ; j > 0 && a[j-1] > e; j-- {
			a[j] = a[j-1]
		}
		a[j] = e
	}
}

// repair sorts elements that are nearly in order by insertion. It gives up when that takes more than a few moves
// for each element.
func repair[E element](a []E) bool {
	budget := 2 * len(a)
	last := a[0]
	for i := 1; i < len(a); i++ {
		e := a[i]
		if e >= last {
			last = e
			continue
		}
		j := i
		for ; j > 0 && a[j-1] > e; j-- {
			a[j] = a[j-1]
		}
		a[j] = e
		if budget -= i - j; budget < 0 {
			return false
		}
	}
	return true
}
