package cpu

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

const (
	// digitBits is the width of a digit at most. In cache it hardly matters: a pass over 2^15 or 2^16 keys took
	// 0.72 to 0.76 ns a key with digits of 8 to 11 bits, so wide ones, which need fewer passes, win. With 11 bits
	// the counters of two passes, 32 KiB, still fit in L1.
	digitBits = 11
	digits    = 1 << digitBits
	maxPasses = (64 + digitBits - 1) / digitBits

	countsBytes = maxPasses * digits * 8

	smallSort = 32 // elements that insertion sorts
)

// radix sorts elements in cache, by counting digits: count, scan, reorder, least significant digit first. Only as many
// leading bits are ranked as tell nearly all elements apart; insertion repairs the rest.
//
// Where the processor can sort neighbours in registers, one wide digit takes the place of the passes if the elements are
// spread well enough: see cells_amd64.go.
//
// Counters have 64 bits, though 32 would do: a pass took 0.72 ns a key instead of 1.0.
type radix[E element] struct {
	counts [maxPasses][digits]uint64
	live   [maxPasses]int // passes that are needed
	passes int            // most passes that any elements took
	whole  [1][]E         // the one block of elements that are not in blocks
	crowds crowds         // how cells fared

	distinct bool // no two elements are equal
}

// crowds remembers that cells were too uneven for sorting neighbours, and has the next 1, 3, 7, … 63 leaves sorted without:
// neighbouring leaves are alike, and elements whose cells never suit are seldom counted in vain.
type crowds struct {
	left int // leaves to sort without cells yet
	last int // how many those were at first
}

// skip reports whether a leaf is one of those.
func (c *crowds) skip() bool {
	if c.left == 0 {
		return false
	}
	c.left--
	return true
}

// note takes whether a leaf's cells were too uneven.
func (c *crowds) note(crowded bool) {
	if c.last = min(2*c.last+1, 63); !crowded {
		c.last = 0
	}
	c.left = c.last
}

// ranked is the number of passes that rank the leading bits of n random elements well enough. 22 bits leave one in
// 2^22/n neighbours to repair.
func ranked(n int) int {
	switch {
	case n <= 512:
		return 1
	case n <= 1<<18:
		return 2
	default:
		return 3
	}
}

// span says what elements can be: width bits from low on.
type span[E element] struct {
	low   E
	width int
}

func spanOf[E element](low, high E) span[E] {
	return span[E]{low, bits.Len64(uint64(high - low))}
}

// spanOfBlocks finds the span of the elements of blocks.
func spanOfBlocks[E element](blocks [][]E) span[E] {
	low, high := ^E(0), E(0)
	for _, block := range blocks {
		blockLow, blockHigh := minMax(block)
		low, high = min(low, blockLow), max(high, blockHigh)
	}
	return spanOf(low, high)
}

// pass is a plan for some passes: digits of digit bits, from bit shift up.
type pass struct {
	shift uint
	digit uint
	count int
}

// sort sorts the elements of blocks, which are in s, into dst. tmp is as long as dst.
func (r *radix[E]) sort(dst, tmp []E, blocks [][]E, s span[E]) {
	if len(dst) <= smallSort {
		concat(dst, blocks)
		insertionSort(dst)
		return
	}
	if r.sortCells(dst, tmp, blocks, s) {
		return
	}
	if way := trend(blocks); way != 0 {
		if r.sortTrending(dst, tmp, blocks, s, way) {
			return
		}
		blocks = r.one(dst)
	}
	r.sortByDigits(dst, tmp, blocks, s)
}

// sortByDigits is sort by passes, for any elements.
func (r *radix[E]) sortByDigits(dst, tmp []E, blocks [][]E, s span[E]) {
	p := pass{digit: digitBits, count: ranked(len(dst))}
	if p.count == 1 {
		p.digit = min(digitBits, uint(bits.Len(uint(len(dst))))+2)
	}
	if rest := s.width - p.count*int(p.digit); rest > 0 {
		p.shift = uint(rest)
	} else {
		p = exactly(s.width)
	}
	r.reorder(dst, tmp, blocks, s.low, p)
	if p.shift > 0 && !repair(dst) {
		r.sortFully(dst, tmp)
	}
}

// trend looks at some neighbours: 1 says that they ascend, -1 that they descend, 0 neither. A few that do the opposite
// are enough to break the pattern that sortTrending is for.
func trend[E element](blocks [][]E) int {
	const looks, each = 4, 16
	ups, downs := 0, 0
	for i := 0; i < len(blocks); i += (len(blocks) + looks - 1) / looks {
		block := blocks[i]
		for j := 1; j < min(len(block), each); j++ {
			switch {
			case block[j] > block[j-1]:
				ups++
			case block[j] < block[j-1]:
				downs++
			}
		}
	}
	switch {
	case ups+downs < each/2:
		return 0
	case downs == 0:
		return 1
	case ups == 0:
		return -1
	}
	return 0
}

// sortTrending sorts elements of which nearly all are in order, or in reverse. Least significant digits first would
// take such elements out of their order and put them back, with stores at equal distances, which the first-level cache
// cannot hold: evenly spaced keys took 8 to 12 ns each where random ones took 2.5. One pass by their most significant
// digit leaves them in order, and insertion does what is left. It reports whether that was little enough; else dst has
// them in some order.
func (r *radix[E]) sortTrending(dst, tmp []E, blocks [][]E, s span[E], way int) bool {
	if way < 0 {
		reverse(tmp, blocks)
		blocks = r.one(tmp)
	}
	digit := min(digitBits, bits.Len(uint(len(dst)))-4)
	r.reorder(dst, tmp, blocks, s.low, pass{shift: uint(max(s.width-digit, 0)), digit: uint(digit), count: 1})
	return repair(dst)
}

// reverse puts the elements of blocks into dst, the last one first.
func reverse[E element](dst []E, blocks [][]E) {
	end := len(dst)
	for _, block := range blocks {
		for _, e := range block {
			end--
			dst[end] = e
		}
	}
}

// exactly plans passes for all of width bits.
func exactly(width int) pass {
	count := max(1, (width+digitBits-1)/digitBits)
	return pass{digit: uint((width + count - 1) / count), count: count}
}

// sortFully sorts elements that the leading bits did not tell apart.
func (r *radix[E]) sortFully(dst, tmp []E) {
	s := spanOf(minMax(dst))
	r.reorder(dst, tmp, r.one(dst), s.low, exactly(s.width))
}

// sortInPlace sorts a. tmp is as long. Elements in order, as a group of records with equal keys is, cost one look.
func (r *radix[E]) sortInPlace(a, tmp []E) {
	if len(a) <= smallSort {
		insertionSort(a)
		return
	}
	if slices.IsSorted(a) {
		return
	}
	r.sort(a, tmp, r.one(a), spanOf(minMax(a)))
}

func (r *radix[E]) one(a []E) [][]E {
	r.whole[0] = a
	return r.whole[:]
}

// reorder makes the passes of p over the elements of blocks and leaves the result in dst. Digits that are the same
// in all elements take no pass. blocks may be dst.
func (r *radix[E]) reorder(dst, tmp []E, blocks [][]E, low E, p pass) {
	r.count(blocks, low, p)
	live := r.scan(p.count, uint64(len(dst)))
	r.passes = max(r.passes, len(live))
	from, to := dst, tmp
	if inPlace := &blocks[0][0] == &dst[0]; len(live) == 0 {
		if !inPlace {
			concat(dst, blocks)
		}
		return
	} else if len(live)%2 == 1 {
		from, to = tmp, dst
		if inPlace {
			blocks = r.one(tmp[:copy(tmp, dst)])
		}
	}
	for i, at := range live {
		if i > 0 {
			blocks = r.one(from)
		}
		r.move(to, blocks, low, at, p)
		from, to = to, from
	}
}

// count counts the digits of all passes while it reads the elements once, or once for each two passes.
func (r *radix[E]) count(blocks [][]E, low E, p pass) {
	for at := range p.count {
		clear(r.counts[at][:1<<p.digit])
	}
	for at := 0; at < p.count; at += 2 {
		for i, block := range blocks {
			if at == 0 {
				prefetchAhead(blocks, i)
			}
			if at+1 < p.count {
				countTwo(block, low, p.shift+uint(at)*p.digit, p.digit, &r.counts[at], &r.counts[at+1])
			} else {
				countOne(block, low, p.shift+uint(at)*p.digit, p.digit, &r.counts[at])
			}
		}
	}
}

// lastBit is the number of the highest bit of an element. A shift by a number that is masked with it needs no check.
func lastBit[E element]() uint {
	var e E
	return uint(unsafe.Sizeof(e))*8 - 1
}

const pageBytes = 4 << 10

// prefetch asks for the start of each page of a block that will be counted soon: the processor's own prefetcher finds the rest
// of a page, but does not go from one to the next. Store of 2^24 u64 took 3.8 ns a key without it, 3.3 with 8 lines of each
// page, 3.4 with all lines.
func prefetch[E element](block []E) {
	const cacheLine = 64
	for bytes := arena.ByteView(block); len(bytes) > 0; bytes = bytes[min(pageBytes, len(bytes)):] {
		prefetchBytes(unsafe.SliceData(bytes), min(8, (len(bytes)+cacheLine-1)/cacheLine))
	}
}

// prefetchAhead asks for what comes a page or more after block i, which is about to be counted, and for that before it with the
// first one. Memory answers later than a block of less is counted.
func prefetchAhead[E element](blocks [][]E, i int) {
	ahead := 1 + (pageBytes-1)/max(1, len(arena.ByteView(blocks[0])))
	if i == 0 {
		for _, block := range blocks[1:min(ahead, len(blocks))] {
			prefetch(block)
		}
	}
	if i+ahead < len(blocks) {
		prefetch(blocks[i+ahead])
	}
}

func countOne[E element](a []E, low E, shift, digit uint, counts *[digits]uint64) {
	mask := E(1)<<digit - 1
	for _, e := range a {
		counts[(e-low)>>(shift&lastBit[E]())&mask&(digits-1)]++
	}
}

func countTwoLoop[E element](a []E, low E, shift, digit uint, counts, next *[digits]uint64) {
	mask := E(1)<<digit - 1
	above := shift + digit
	for _, e := range a {
		e -= low
		counts[e>>(shift&lastBit[E]())&mask&(digits-1)]++
		next[e>>(above&lastBit[E]())&mask&(digits-1)]++
	}
}

// scan makes the counters of each pass the places of the first element of each digit, and names the passes in which
// not all of n elements have the same digit.
func (r *radix[E]) scan(passes int, n uint64) (live []int) {
	live = r.live[:0]
	for at := range passes {
		if !exclusiveScan(&r.counts[at], n) {
			live = append(live, at)
		}
	}
	return live
}

// exclusiveScan replaces counters by the sums of those before them, unless one of them has all of n.
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

// move is one pass: it moves the elements of blocks to where the counters of pass at say.
func (r *radix[E]) move(to []E, blocks [][]E, low E, at int, p pass) {
	for _, block := range blocks {
		moveBlock(to, block, low, p.shift+uint(at)*p.digit, p.digit, &r.counts[at])
	}
}

func moveLoop[E element](to, block []E, low E, shift, digit uint, places *[digits]uint64) {
	mask := E(1)<<digit - 1
	for _, e := range block {
		d := (e - low) >> (shift & lastBit[E]()) & mask & (digits - 1)
		place := places[d]
		to[place] = e
		places[d] = place + 1
	}
}

func concat[E element](dst []E, blocks [][]E) {
	for _, block := range blocks {
		dst = dst[copy(dst, block):]
	}
}

// minMax is the range of a, which is not empty. Four lanes keep it from waiting for one comparison after the other.
func minMax[E element](a []E) (low, high E) {
	low, high = a[0], a[0]
	low1, high1, low2, high2, low3, high3 := low, high, low, high, low, high
	for ; len(a) >= 4; a = a[4:] {
		low, high = min(low, a[0]), max(high, a[0])
		low1, high1 = min(low1, a[1]), max(high1, a[1])
		low2, high2 = min(low2, a[2]), max(high2, a[2])
		low3, high3 = min(low3, a[3]), max(high3, a[3])
	}
	for _, e := range a {
		low, high = min(low, e), max(high, e)
	}
	return min(low, low1, low2, low3), max(high, high1, high2, high3)
}

func insertionSort[E element](a []E) {
	for i := 1; i < len(a); i++ {
		sink(a, i)
	}
}

// sink moves element i to its place among those before it, which are in order, and gives how far.
func sink[E element](a []E, i int) int {
	e, j := a[i], i
	for ; j > 0 && a[j-1] > e; j-- {
		a[j] = a[j-1]
	}
	a[j] = e
	return i - j
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
		if budget -= sink(a, i); budget < 0 {
			return false
		}
	}
	return true
}
