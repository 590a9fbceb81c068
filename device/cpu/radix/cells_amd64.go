package radix

import (
	"math/bits"
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// Sorting by cells: one digit so wide that most of its values have a few elements at most. The elements of a value,
// a cell, lie side by side after one count, scan and reorder; sorting every eight neighbours, and then every eight
// that straddle two of those, leaves little to repair. That replaces the two passes with digits of 11 bits where
// the processor sorts eight times eight neighbours at once, in registers of 512 bits.

const (
	cellBits       = 14              // of the widest digit
	maxInCells     = 9 << cellBits   // elements: 9 for each cell; more leave too much to repair
	cellsThreshold = 256             // elements
	partsThreshold = 80 << 10        // elements that are parted first, if they are more: with room for as many, 1.3 MiB
	partOf         = 32 << 10        // elements of a part, about
	partBits       = 8               // of the digit that parts, at most
	minCells       = 16              // counters, which scanCells takes at a time
	window         = 8               // neighbours that are sorted together
	windowEdge     = window / 2      // elements before the first window that straddles two others
	windowGroup    = window * window // elements that sortWindows sorts at once
)

// hasVectors says whether the processor has the vectors that assembly takes to sort windows, number fitted buckets and
// keep what is within a range.
var hasVectors = cpuid.CPU.Supports(cpuid.BMI1, cpuid.AVX512F, cpuid.AVX512CD)

// cellCounts are the counters of cells: 32 bits each, and 64 KiB at most, in the room of those of the passes.
func (r *Sorter[E]) cellCounts(digit int) *uint32 {
	counts := unsafe.Slice((*uint32)(unsafe.Pointer(&r.counts)), max(1<<digit, minCells))
	clear(counts)
	return &counts[0]
}

// sortCells is sort for elements that cells suit. Where it reports false, dst and tmp have no meaning, and blocks the
// elements that they had, in some order.
func (r *Sorter[E]) sortCells(dst, tmp []E, blocks [][]E, s span[E]) bool {
	n := len(dst)
	if !hasVectors || lastBit[E]() != 63 || n < cellsThreshold || r.backoff.skip() {
		return false
	}
	if n > partsThreshold && s.Width > cellBits {
		r.sortParts(dst, tmp, blocks, s)
		return true
	}
	if inPlace := &blocks[0][0] == &dst[0]; s.Width <= cellBits && !inPlace {
		tmp = dst // no windows follow
	}
	return r.cellSort(dst, tmp, blocks, s)
}

// cellSort sorts the elements of blocks by cells, by way of tmp, into dst, which may be tmp.
func (r *Sorter[E]) cellSort(dst, tmp []E, blocks [][]E, s span[E]) bool {
	n := len(dst)
	digit := min(bits.Len(uint(n-1))-2, cellBits, s.Width) // 4 elements in each cell on average, or from 2 on
	low, control := uint64(s.low), uint64(s.Width-digit|digit<<8)
	counts := r.cellCounts(digit)
	countAll(blocks, low, control, counts)
	squares := scanCells(counts, max(1<<digit, minCells))
	bound := 2 * uint64(n+n*n>>digit)
	even := digit == s.Width || n <= maxInCells && squares <= bound
	if r.backoff.note(!even); !even {
		return false
	}
	r.Passes = max(r.Passes, 1)
	moveAll(tmp, blocks, low, control, counts)
	if digit < s.Width {
		sortWindows(words(dst), words(tmp))
		return joinWindows(words(dst))
	}
	if &tmp[0] != &dst[0] {
		copy(dst, tmp)
	}
	return true
}

// sortParts sorts elements that are more than fit in the second-level cache twice: it parts them by their leading bits
// first, so that each part does.
func (r *Sorter[E]) sortParts(dst, tmp []E, blocks [][]E, s span[E]) {
	digit := min(max(bits.Len(uint(len(dst)/partOf)), 4), partBits)
	shift := s.Width - digit
	low, control := uint64(s.low), uint64(shift|digit<<8)
	counts := r.cellCounts(digit)
	countAll(blocks, low, control, counts)
	scanCells(counts, 1<<digit)
	moveAll(tmp, blocks, low, control, counts)
	var ends [1 << partBits]uint32 // the counters are needed again
	copy(ends[:], unsafe.Slice(counts, 1<<digit))
	from := 0
	for i, end := range ends[:1<<digit] {
		to := int(end)
		if part := dst[from:to]; len(part) > 0 {
			r.sortPart(part, tmp[from:to], span[E]{s.low + E(i)<<shift, shift})
		}
		from = to
	}
	r.Passes = max(r.Passes, 2)
}

// sortPart sorts the elements of src, which is lost, into dst.
func (r *Sorter[E]) sortPart(dst, src []E, s span[E]) {
	if len(src) >= cellsThreshold && len(src) <= partsThreshold && r.cellSort(dst, dst, [][]E{src}, s) {
		return
	}
	if len(src) > partsThreshold {
		r.backoff.note(true) // parting did not help
	}
	copy(dst, src)
	if len(dst) <= smallSort {
		insertionSort(dst)
		return
	}
	r.sortByDigits(dst, src, [][]E{dst}, SpanOf(MinMax(dst)))
}

func countAll[E Element](blocks [][]E, low, control uint64, counts *uint32) {
	for _, block := range blocks {
		countCells(words(block), low, control, counts)
	}
}

func moveAll[E Element](to []E, blocks [][]E, low, control uint64, places *uint32) {
	for _, block := range blocks {
		block := words(block)
		moveCells(word[uint64](to), block, low, control, places, aheadOf(len(block)/4))
	}
}

// words is a view of elements of 64 bits as such.
func words[E Element](a []E) []uint64 {
	return unsafe.Slice(word[uint64](a), len(a))
}

// sortWindows sorts every window of src: those that begin halfway through the first window, and then those that
// begin with it and straddle two of the others each. src is changed; dst gets the result and may be src.
//
// REQUIRES: src is longer than an edge.
func sortWindows(dst, src []uint64) {
	insertionSort(src[:windowEdge])
	groups := (len(src) - windowEdge) / windowGroup
	at := groups * windowGroup
	if groups > 0 {
		sortGroups(&dst[0], &src[0], groups)
		copy(src[at:at+windowEdge], dst[at:])
	}
	// The rest is less than a group: the greatest element possible stands for those that it lacks.
	var rest [windowEdge + windowGroup]uint64
	for i := copy(rest[:], src[at:]); i < len(rest); i++ {
		rest[i] = ^uint64(0)
	}
	sortGroups(&rest[0], &rest[0], 1)
	copy(dst[at:], rest[:])
}

// joinWindows sorts elements that are in order but for some places where a window begins. It gives up when that
// takes more than a few moves for each element.
func joinWindows(a []uint64) bool {
	budget := 2 * len(a)
	for start := window; start < len(a); start += window {
		for i := start; i < len(a) && a[i] < a[i-1]; i++ {
			if budget -= sink(a, i); budget < 0 {
				return false
			}
		}
	}
	return true
}

// The assembly requires hasVectors.

// countCells counts the digits of a block.
//
//go:noescape
func countCells(block []uint64, low, control uint64, counts *uint32)

// scanCells replaces n counters, a multiple of 16, by the sums of those before them, and gives the sum of their
// squares: less if a counter exceeds 8191, which counts as that. The sum of all is less than 2^18.
//
//go:noescape
func scanCells(counts *uint32, n int) (squares uint64)

// moveCells moves the elements of a block to where the counters say, those of a cell in any order. For the first
// elements of each quarter of the block, ahead of them, it asks for lines as move64 does.
//
//go:noescape
func moveCells(to *uint64, block []uint64, low, control uint64, places *uint32, ahead int)

// sortGroups sorts the windows of groups: of an edge at src, which is in order, and as many groups after it.
//
//go:noescape
func sortGroups(dst, src *uint64, groups int)
