// Package radix partitions elements by their leading bits and sorts them in the cache, with
// assembly for some processors.
//
// Only the root package of this module is stable: this package may change in any version.
//
//	Buckets    map elements to buckets in order; the widths of the buckets are equal, or fitted
//	           to a sample (buckets.go, fit.go)
//	Scatterer  appends elements to thousands of buckets, a line at a time and bypassing the caches
//	           (combiner.go, scatter.go), and counts the keys of equality buckets in place of
//	           storing them (equality.go)
//	Appender   does the same for buffers of equal size, for data that is partitioned on disk
//	           (appender.go)
//	Sorter     sorts elements in the cache: count, scan and reorder by digits (radix.go), or by
//	           cells (cells_amd64.go)
package radix

import (
	"math/bits"
	"slices"
)

const (
	// DigitBits is the maximum width of a digit. Within the cache, the width hardly affects the
	// time of a pass, so wide digits are better because they need fewer passes. With 11 bits the
	// counters of two passes, 32 KiB, still fit into L1.
	DigitBits = 11
	digits    = 1 << DigitBits
	maxPasses = (64 + DigitBits - 1) / DigitBits

	CountsBytes = maxPasses * digits * 8

	smallSort = 32 // maximum number of elements for insertion sort
)

// A Sorter sorts elements in the cache with a counting sort by digits: count, scan, reorder,
// least significant digit first. It ranks only as many leading bits as distinguish nearly all
// elements; insertion sort repairs the rest.
//
// If the processor can sort neighbors in registers, and the elements are spread evenly enough, a
// single wide digit replaces the passes; see cells_amd64.go.
//
// Counters have 64 bits although 32 would suffice, because passes are faster this way.
type Sorter[E Element] struct {
	counts       [maxPasses][digits]uint64
	neededPasses [maxPasses]int // passes that are needed
	Passes       int            // maximum number of passes that any elements needed
	backoff      backoff        // success of sorting by cells
}

// A backoff remembers that cells were too uneven for sorting neighbors. The next 1, 3, 7, … 63
// leaves are then sorted without cells. Neighboring leaves are similar, so elements that never
// suit cells are seldom counted in vain.
type backoff struct {
	remaining int // number of leaves that are still to be sorted without cells
	length    int // initial value of remaining
}

// skipsCells reports whether a leaf is to be sorted without cells.
func (c *backoff) skipsCells() bool {
	c.remaining--
	return c.remaining >= 0
}

// noteCells records whether the cells of a leaf were too uneven.
func (c *backoff) noteCells(overfull bool) {
	if overfull {
		c.length = min(2*c.length+1, 63)
	} else {
		c.length = 0
	}
	c.remaining = c.length
}

// rankingPasses returns the number of passes that rank the leading bits of n random elements well
// enough. 22 bits leave one of 2^22/n neighbors to repair.
func rankingPasses(n int) int {
	switch {
	case n <= 512:
		return 1
	case n <= 1<<18:
		return 2
	default:
		return 3
	}
}

// A span is a range of elements: width bits, starting at low.
type span[E Element] struct {
	low   E
	Width int
}

// SpanOf returns the span of the elements from low to high.
func SpanOf[E Element](low, high E) span[E] {
	return span[E]{low, bits.Len64(uint64(high - low))}
}

// SpanOfBlocks returns the span of the elements of blocks.
func SpanOfBlocks[E Element](blocks [][]E) span[E] {
	low := ^E(0)
	high := E(0)
	for _, block := range blocks {
		blockLow, blockHigh := MinMax(block)
		low = min(low, blockLow)
		high = max(high, blockHigh)
	}
	return SpanOf(low, high)
}

// digitPasses describes count passes, for digits of digitBits bits each, from bit shift up.
type digitPasses struct {
	shift     uint
	digitBits uint
	count     int
}

// Sort sorts the elements of blocks, which are within s, into dst. tmp has the same length as
// dst.
func (r *Sorter[E]) Sort(
	dst, tmp []E,
	blocks [][]E,
	s span[E],
) {
	if len(dst) <= smallSort {
		concatBlocks(dst, blocks)
		insertionSort(dst)
		return
	}
	if !r.tryCells(dst, tmp, blocks, s) {
		r.sortByDigits(dst, tmp, blocks, s)
	}
}

// sortByDigits is Sort by passes. It works for any elements.
func (r *Sorter[E]) sortByDigits(
	dst, tmp []E,
	blocks [][]E,
	s span[E],
) {
	p := digitPasses{digitBits: DigitBits, count: rankingPasses(len(dst))}
	if p.count == 1 {
		p.digitBits = min(DigitBits, uint(bits.Len(uint(len(dst))))+2)
	}
	rest := s.Width - p.count*int(p.digitBits)
	if rest > 0 {
		p.shift = uint(rest)
	} else {
		p = exactPasses(s.Width)
	}

	r.reorder(dst, tmp, blocks, s.low, p)
	if p.shift > 0 &&
		!sortNearlySorted(dst) { // the leading bits distinguish too few elements
		s = SpanOf(MinMax(dst))
		r.SortBits(dst, tmp, s.low, 0, s.Width)
	}
}

// exactPasses returns the passes for all of width bits.
func exactPasses(width int) digitPasses {
	count := max(1, (width+DigitBits-1)/DigitBits)
	return digitPasses{digitBits: uint((width + count - 1) / count), count: count}
}

// SortBits sorts a by width bits, from bit shift up, of the difference between an element and
// low. It is stable. tmp has the same length as a.
func (r *Sorter[E]) SortBits(
	a, tmp []E,
	low E,
	shift uint,
	width int,
) {
	p := exactPasses(width)
	p.shift = shift
	r.reorder(a, tmp, [][]E{a}, low, p)
}

// SortInPlace sorts a. tmp has the same length. Elements that are already sorted, such as a group
// of records with equal keys, take a single scan.
func (r *Sorter[E]) SortInPlace(a, tmp []E) {
	if len(a) <= smallSort {
		insertionSort(a)
	} else if !slices.IsSorted(a) {
		r.Sort(a, tmp, [][]E{a}, SpanOf(MinMax(a)))
	}
}

// reorder makes the passes of p over the elements of blocks, and leaves the result in dst. It
// skips digits that are the same in all elements. blocks may be dst.
func (r *Sorter[E]) reorder(
	dst, tmp []E,
	blocks [][]E,
	low E,
	p digitPasses,
) {
	r.countDigits(blocks, low, p)
	live := r.neededPasses[:0]
	for at := range p.count {
		if !exclusiveScan(&r.counts[at], uint64(len(dst))) {
			live = append(live, at)
		}
	}

	r.Passes = max(r.Passes, len(live))
	if len(live) == 0 {
		concatBlocks(dst, blocks)
		return
	}

	from := dst
	to := tmp
	if len(live)%2 == 1 {
		from = tmp
		to = dst
		if &blocks[0][0] == &dst[0] {
			blocks = [][]E{tmp[:copy(tmp, dst)]}
		}
	}

	r.movePass(to, blocks, low, live[0], p)
	for _, at := range live[1:] {
		from, to = to, from
		r.movePass(to, [][]E{from}, low, at, p)
	}
}

// countDigits counts the digits of all passes. It reads the elements once per two passes.
func (r *Sorter[E]) countDigits(blocks [][]E, low E, p digitPasses) {
	for at := range p.count {
		clear(r.counts[at][:1<<p.digitBits])
	}
	for at := 0; at < p.count; at += 2 {
		for _, block := range blocks {
			if at+1 < p.count {
				countTwo(
					block,
					low,
					p.shift+uint(at)*p.digitBits,
					p.digitBits,
					&r.counts[at],
					&r.counts[at+1],
				)
			} else {
				countOne(
					block,
					low,
					p.shift+uint(at)*p.digitBits,
					p.digitBits,
					&r.counts[at],
				)
			}
		}
	}
}

func countOne[E Element](
	a []E,
	low E,
	shift, digit uint,
	counts *[digits]uint64,
) {
	mask := E(1)<<digit - 1
	for _, e := range a {
		counts[(e-low)>>(shift&lastBit[E]())&mask&(digits-1)]++
	}
}

func countTwoLoop[E Element](
	a []E,
	low E,
	shift, digit uint,
	counts, next *[digits]uint64,
) {
	mask := E(1)<<digit - 1
	above := shift + digit
	for _, e := range a {
		e -= low
		counts[e>>(shift&lastBit[E]())&mask&(digits-1)]++
		next[e>>(above&lastBit[E]())&mask&(digits-1)]++
	}
}

// exclusiveScan replaces counters by the sums of the counters before them, which are the
// positions of the first element of each digit. If one counter has all n elements, it returns
// true instead.
func exclusiveScan(counts *[digits]uint64, n uint64) (constant bool) {
	sum := uint64(0)
	for i, c := range counts {
		if c == n {
			return true
		}
		counts[i] = sum
		sum += c
		if sum == n {
			break
		}
	}

	return false
}

// movePass makes pass at: it moves the elements of blocks to the positions given by the counters.
func (r *Sorter[E]) movePass(
	to []E,
	blocks [][]E,
	low E,
	at int,
	p digitPasses,
) {
	for _, block := range blocks {
		moveBlock(
			to,
			block,
			low,
			p.shift+uint(at)*p.digitBits,
			p.digitBits,
			&r.counts[at],
		)
	}
}

func moveLoop[E Element](
	to, block []E,
	low E,
	shift, digit uint,
	places *[digits]uint64,
) {
	mask := E(1)<<digit - 1
	for _, e := range block {
		d := (e - low) >> (shift & lastBit[E]()) & mask & (digits - 1)
		place := places[d]
		to[place] = e
		places[d] = place + 1
	}
}

func concatBlocks[E Element](dst []E, blocks [][]E) {
	for _, block := range blocks {
		dst = dst[copy(dst, block):]
	}
}

func insertionSort[E Element](a []E) {
	for i := 1; i < len(a); i++ {
		sink(a, i)
	}
}

// sink moves element i to its place among the elements before it, which are sorted. It returns
// the distance.
func sink[E Element](a []E, i int) int {
	e := a[i]
	j := i
	for ; j > 0 && a[j-1] > e; j-- {
		a[j] = a[j-1]
	}
	a[j] = e
	return i - j
}

// sortNearlySorted sorts nearly sorted elements by insertion. It gives up if that takes more than
// a few moves per element.
func sortNearlySorted[E Element](a []E) bool {
	budget := 2 * len(a)
	last := a[0]
	for i := 1; i < len(a); i++ {
		e := a[i]
		if e >= last {
			last = e
			continue
		}
		if budget -= sink(a, i); budget < 0 {
			return false
		}
	}

	return true
}
