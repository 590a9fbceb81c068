package cpu

import (
	"github.com/extsort/extsort/device/cpu/radix"
)

// smallTie is the largest group of ties that is ordered by comparing records.
const smallTie = 12

// refine orders neighbours in a whose elements, which hold the key from bit from on, tie before the key ends.
// REQUIRES: a is in order, and tmp is as long.
func (r *records) refine(sorter *radix.Sorter[uint64], a, tmp []uint64, from int) {
	tieBits := r.tieBits(from)
	if tieBits == 0 {
		return
	}
	for i, asked := 0, 0; i < len(a); {
		end := endOfTie(a, i, tieBits)
		if end-i > 1 {
			asked = r.ask(a, max(asked, i), end+tiesAhead, tieBits)
			r.settle(sorter, a[i:end], tmp[i:end], from)
		}
		i = end
	}
}

// endOfTie is the end of the group of ties that begins at i.
func endOfTie(a []uint64, i int, tieBits uint) int {
	end := i + 1
	for end < len(a) && a[end]>>tieBits == a[i]>>tieBits {
		end++
	}
	return end
}

// tiesAhead is how many elements are looked at for ties before their turn comes: as many as a processor can ask
// memory for at a time.
const tiesAhead = 24

// ask asks for the records of small groups of ties that begin before end, from one group on, and returns the end of
// the last. Larger groups are gathered, which asks for itself.
func (r *records) ask(a []uint64, from, end int, tieBits uint) int {
	for from < min(end, len(a)) {
		next := endOfTie(a, from, tieBits)
		if n := next - from; n > 1 && n < windowBatch {
			r.prefetch(a[from:next])
		}
		from = next
	}
	return from
}

// settle orders a group of ties: a small one by comparing, a large one by the next bits of the key that are not the
// same in all of the group, which cuts it into smaller groups however long a common prefix is.
func (r *records) settle(sorter *radix.Sorter[uint64], group, tmp []uint64, from int) {
	if len(group) <= smallTie {
		for i := 1; i < len(group); i++ {
			e, j := group[i], i
			for ; j > 0 && r.less(e, group[j-1]); j-- {
				group[j] = group[j-1]
			}
			group[j] = e
		}
		return
	}
	next := r.next(from)
	if next < 0 {
		next = r.agreement(group[1:], group[0], from)
	}
	r.rewindow(group, next)
	sorter.SortInPlace(group, tmp)
	r.refine(sorter, group, tmp, next)
}
