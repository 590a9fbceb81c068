package cpu

// smallTie is the largest group of ties that is ordered by comparing records.
const smallTie = 12

// refine orders neighbours in a whose elements, which hold the key from bit from on, tie before the key ends.
// REQUIRES: a is in order, and tmp is as long.
func refine[E element](c codec[E], r *radix[E], a, tmp []E, from int) {
	tieBits := c.tieBits(from)
	if tieBits == 0 {
		return
	}
	for i := 0; i < len(a); {
		end := i + 1
		for end < len(a) && a[end]>>tieBits == a[i]>>tieBits {
			end++
		}
		if end-i > 1 {
			settle(c, r, a[i:end], tmp[i:end], from)
		}
		i = end
	}
}

// settle orders a group of ties: a small one by comparing, a large one by the next bits of the key that are not the
// same in all of the group, which cuts it into smaller groups however long a common prefix is.
func settle[E element](c codec[E], r *radix[E], group, tmp []E, from int) {
	if len(group) <= smallTie {
		for i := 1; i < len(group); i++ {
			e, j := group[i], i
			for ; j > 0 && c.less(e, group[j-1]); j-- {
				group[j] = group[j-1]
			}
			group[j] = e
		}
		return
	}
	next := c.next(from)
	if next < 0 {
		next = c.agreement(group[1:], group[0], from)
	}
	c.rewindow(group, next)
	r.sortInPlace(group, tmp)
	refine(c, r, group, tmp, next)
}
