package radix

import (
	"math/bits"
	"unsafe"

	"github.com/klauspost/cpuid/v2"
)

// Sorting by cells uses a single digit that is so wide that most of its values, the cells,
// contain at most a few elements. One count, scan and reorder makes the elements of each cell
// adjacent. Sorting each octet of eight neighbors, and then each octet of eight that straddles
// two of those, leaves little to repair. This replaces two passes with digits of 11 bits, on
// processors that can sort eight octets of eight elements at once in registers of 512 bits.

const (
	cellBits       = 14            // of the widest digit
	maxInCells     = 9 << cellBits // elements: 9 per cell; more leave too much to repair
	cellsThreshold = 256           // elements
	// partsThreshold is the number of elements above which they are partitioned first. With space
	// for sorting they occupy 1.3 MiB.
	partsThreshold = 80 << 10
	partOf         = 32 << 10      // approximate number of elements of a part
	partBits       = 8             // maximum width of the partitioning digit
	minCells       = 16            // number of counters that scanCells processes at a time
	octet          = 8             // neighbors that are sorted together
	octetEdge      = octet / 2     // elements before the first octet that straddles two others
	octetGroup     = octet * octet // elements that sortOctets sorts at once
)

// hasVectors reports whether the processor has the vector instructions with which the assembly
// sorts octets, numbers fitted buckets, and selects the elements within a range.
var hasVectors = cpuid.CPU.Supports(cpuid.BMI1, cpuid.AVX512F, cpuid.AVX512CD)

// cellCounts returns the counters of cells, 32 bits each and at most 64 KiB. They use the memory
// of the counters of passes.
func (r *Sorter[E]) cellCounts(digit int) *uint32 {
	counts := unsafe.Slice(
		(*uint32)(unsafe.Pointer(&r.counts)),
		max(1<<digit, minCells),
	)
	clear(counts)
	return &counts[0]
}

// tryCells is Sort for elements that suit cells. If it returns false, the contents of dst and
// tmp are undefined, and blocks contains its original elements in some order.
func (r *Sorter[E]) tryCells(
	dst, tmp []E,
	blocks [][]E,
	s span[E],
) bool {
	n := len(dst)
	if !hasVectors || lastBit[E]() != 63 || n < cellsThreshold ||
		r.backoff.skipsCells() {
		return false
	}
	if n > partsThreshold && s.Width > cellBits {
		r.partitionAndSort(dst, tmp, blocks, s)
		return true
	}

	inPlace := &blocks[0][0] == &dst[0]
	if s.Width <= cellBits && !inPlace {
		tmp = dst // no octets follow
	}
	return r.sortByCells(dst, tmp, blocks, s)
}

// sortByCells sorts the elements of blocks by cells into dst. It uses tmp, which may be dst.
func (r *Sorter[E]) sortByCells(
	dst, tmp []E,
	blocks [][]E,
	s span[E],
) bool {
	n := len(dst)
	// 4 elements per cell on average, or at least 2
	digit := min(bits.Len(uint(n-1))-2, cellBits, s.Width)
	low := uint64(s.low)
	control := uint64(s.Width - digit | digit<<8)
	counts := r.cellCounts(digit)
	countAll(blocks, low, control, counts)
	squares := scanCells(counts, max(1<<digit, minCells))
	bound := 2 * uint64(n+n*n>>digit)
	even := digit == s.Width || n <= maxInCells && squares <= bound
	if r.backoff.noteCells(!even); !even {
		return false
	}
	r.Passes = max(r.Passes, 1)
	moveAll(tmp, blocks, low, control, counts)
	if digit < s.Width {
		sortOctets(asWords(dst), asWords(tmp))
		return joinOctets(asWords(dst))
	}

	if &tmp[0] != &dst[0] {
		copy(dst, tmp)
	}
	return true
}

// partitionAndSort sorts more elements than fit into the second-level cache twice. It first
// partitions them by their leading bits, so that each part fits.
func (r *Sorter[E]) partitionAndSort(
	dst, tmp []E,
	blocks [][]E,
	s span[E],
) {
	digit := min(max(bits.Len(uint(len(dst)/partOf)), 4), partBits)
	shift := s.Width - digit
	low := uint64(s.low)
	control := uint64(shift | digit<<8)
	counts := r.cellCounts(digit)
	countAll(blocks, low, control, counts)
	scanCells(counts, 1<<digit)
	moveAll(tmp, blocks, low, control, counts)
	var ends [1 << partBits]uint32 // a copy, because the counters are needed again
	copy(ends[:], unsafe.Slice(counts, 1<<digit))
	from := 0

	for i, end := range ends[:1<<digit] {
		to := int(end)
		part := dst[from:to]
		if len(part) > 0 {
			r.sortPart(part, tmp[from:to], span[E]{s.low + E(i)<<shift, shift})
		}
		from = to
	}

	r.Passes = max(r.Passes, 2)
}

// sortPart sorts the elements of src into dst. It overwrites src.
func (r *Sorter[E]) sortPart(dst, src []E, s span[E]) {
	if len(src) >= cellsThreshold && len(src) <= partsThreshold &&
		r.sortByCells(dst, dst, [][]E{src}, s) {
		return
	}
	if len(src) > partsThreshold {
		r.backoff.noteCells(true) // partitioning did not help
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
		countCells(asWords(block), low, control, counts)
	}
}

func moveAll[E Element](
	to []E,
	blocks [][]E,
	low, control uint64,
	places *uint32,
) {
	for _, block := range blocks {
		block := asWords(block)
		moveCells(
			firstWord[uint64](to),
			block,
			low,
			control,
			places,
			prefetchedOf(len(block)/4),
		)
	}
}

// asWords returns a view of 64-bit elements as uint64.
func asWords[E Element](a []E) []uint64 {
	return unsafe.Slice(firstWord[uint64](a), len(a))
}

// sortOctets sorts src in two rounds. The first round sorts the octets that begin at octetEdge,
// octetEdge+octet, and so on. The second round sorts the octets that begin at 0, octet, and so on,
// each of which straddles two octets of the first round. The result is in dst, which may be src.
// src is overwritten in any case.
//
// REQUIRES: src is longer than an edge
func sortOctets(dst, src []uint64) {
	insertionSort(src[:octetEdge])
	groups := (len(src) - octetEdge) / octetGroup
	at := groups * octetGroup

	if groups > 0 {
		sortGroups(&dst[0], &src[0], groups)
		copy(src[at:at+octetEdge], dst[at:])
	}
	// The rest is less than a group. It is filled up with the greatest possible element.
	var rest [octetEdge + octetGroup]uint64
	for i := copy(rest[:], src[at:]); i < len(rest); i++ {
		rest[i] = ^uint64(0)
	}
	sortGroups(&rest[0], &rest[0], 1)
	copy(dst[at:], rest[:])
}

// joinOctets sorts elements that are in order except at some places where an octet begins. It gives
// up if that takes more than a few moves per element.
func joinOctets(a []uint64) bool {
	budget := 2 * len(a)
	for start := octet; start < len(a); start += octet {
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

// scanCells replaces n counters, a multiple of 16, by the sums of the counters before them. It
// returns the sum of their squares, in which a counter above 8191 counts as 8191. The sum of all
// counters must be less than 2^18.
//
//go:noescape
func scanCells(counts *uint32, n int) (squares uint64)

// moveCells moves the elements of a block to the positions given by the counters. The order
// within a cell is arbitrary. For the first ahead elements of each quarter of the block, it
// prefetches lines like move64.
//
//go:noescape
func moveCells(
	to *uint64,
	block []uint64,
	low, control uint64,
	places *uint32,
	ahead int,
)

// sortGroups sorts the octets of the given number of groups. They follow an edge at src, which
// is already sorted.
//
//go:noescape
func sortGroups(dst, src *uint64, groups int)
