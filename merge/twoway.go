package merge

import (
	"math/bits"
	"sort"
	"unsafe"
)

// sequence is keys in order, and for each a reference to its record where records have more than the key.
type sequence struct {
	keys []uint64
	refs []ref
}

// ref names a record of a tile: the number of its stretch in the upper half, its index there in the lower.
type ref uint64

// part is s[from:to].
func (s sequence) part(from, to int) sequence {
	s.keys = s.keys[from:to]
	if s.refs != nil {
		s.refs = s.refs[from:to]
	}
	return s
}

// copyFrom copies a to the beginning of s and returns what is left of s.
func (s sequence) copyFrom(a sequence) sequence {
	copy(s.keys, a.keys)
	if s.refs != nil {
		copy(s.refs, a.refs)
	}
	return s.part(len(a.keys), len(s.keys))
}

// The two-way merges below work from both ends at once: the front takes the lower of two heads, of equal ones that of
// a; the back takes the higher of two tails, of equal ones that of b. Either decision moves indexes by arithmetic on
// the borrow of a subtraction, without a branch that random keys would make mispredicted, and the processor works on
// both ends at the same time. (This is the "parity merge" of I. van den Hoven's quadsort and the "bidirectional
// merge" of O. Peters's glidesort.)
//
// A step takes at most one record of each input at either end. So half the length of the shorter input is a number of
// steps that needs no check for an end; what remains is half as long, and so on.

// steps is how many steps can be made at both ends without looking for the end of an input.
func steps(a, b int) int { return min(a, b) / 2 }

// mergeKeys merges a and b into dst. REQUIRES: dst has room for both, and overlaps neither.
func mergeKeys(dst, a, b []uint64) {
	dst, a, b = mergeVectors(dst[:len(a)+len(b)], a, b)
	for n := steps(len(a), len(b)); n > 0; n = steps(len(a), len(b)) {
		i, j, p, q := keySteps(n, unsafe.Pointer(unsafe.SliceData(dst)),
			unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b)), len(a)-1, len(b)-1)
		dst, a, b = dst[i+j:p+q+2], a[i:p+1], b[j:q+1]
	}
	finish(sequence{keys: dst}, sequence{keys: a}, sequence{keys: b}, func(_, _ int) bool { return false })
}

// keySteps makes n steps at both ends and returns where the inputs are then: a is left from i to p, b from j to q.
//
// Of the front only j is counted, since i and j sum to the number s of the step, and of the back only p. So the borrow
// goes into one counter by an add-with-carry, the shortest way from a comparison to the next address. All accesses are
// within the slices of mergeKeys, since n is at most half the length of either input.
func keySteps(n int, dst, a, b unsafe.Pointer, aLast, bLast int) (i, j, p, q int) {
	var fromB, borrow uint64
	back, last := uint64(aLast), uint64(aLast+bLast)
	for s := uint64(0); s < uint64(n); s++ {
		x, y := word(a, s-fromB), word(b, fromB)
		*at(dst, s) = min(x, y)
		_, borrow = bits.Sub64(y, x, 0)
		fromB, _ = bits.Add64(fromB, 0, borrow)

		x, y = word(a, back), word(b, last-back)
		*at(dst, last+1) = max(x, y)
		_, borrow = bits.Sub64(y, x, 0)
		back, _ = bits.Sub64(back, 0, borrow)
		last--
	}
	return n - int(fromB), int(fromB), int(back), int(last - back)
}

func at(base unsafe.Pointer, i uint64) *uint64  { return (*uint64)(unsafe.Add(base, i*8)) }
func word(base unsafe.Pointer, i uint64) uint64 { return *at(base, i) }

// mergeRefs is mergeKeys for keys with references. tieFromB decides between equal keys whether the record of b
// comes first, as it can where keys are prefixes; it may be nil.
func mergeRefs(dst, a, b sequence, tieFromB func(ra, rb ref) bool) {
	dst = dst.part(0, len(a.keys)+len(b.keys))
	for n := steps(len(a.keys), len(b.keys)); n > 0; n = steps(len(a.keys), len(b.keys)) {
		i, j, p, q := refSteps(n, dst, a, b, tieFromB)
		dst, a, b = dst.part(i+j, p+q+2), a.part(i, p+1), b.part(j, q+1)
	}
	finish(dst, a, b, func(i, j int) bool { return tieFromB != nil && tieFromB(a.refs[i], b.refs[j]) })
}

// refSteps is keySteps with references that move with their keys, and another look at keys that are equal.
func refSteps(n int, dst, a, b sequence, tieFromB func(ra, rb ref) bool) (i, j, p, q int) {
	keys, aKeys, bKeys := unsafe.Pointer(&dst.keys[0]), unsafe.Pointer(&a.keys[0]), unsafe.Pointer(&b.keys[0])
	refs, aRefs, bRefs := unsafe.Pointer(&dst.refs[0]), unsafe.Pointer(&a.refs[0]), unsafe.Pointer(&b.refs[0])
	var fromB, borrow uint64
	back, last := uint64(len(a.keys)-1), uint64(len(a.keys)+len(b.keys)-2)
	for s := uint64(0); s < uint64(n); s++ {
		x, y := word(aKeys, s-fromB), word(bKeys, fromB)
		r, t := word(aRefs, s-fromB), word(bRefs, fromB)
		_, borrow = bits.Sub64(y, x, 0)
		if x == y && tieFromB != nil && tieFromB(ref(r), ref(t)) {
			borrow = 1
		}
		fromB, _ = bits.Add64(fromB, 0, borrow)
		if borrow != 0 {
			r = t // compiled to a conditional move
		}
		*at(keys, s), *at(refs, s) = min(x, y), r

		x, y = word(aKeys, back), word(bKeys, last-back)
		r, t = word(aRefs, back), word(bRefs, last-back)
		_, borrow = bits.Sub64(y, x, 0)
		if x == y && tieFromB != nil && tieFromB(ref(r), ref(t)) {
			borrow = 1
		}
		back, _ = bits.Sub64(back, 0, borrow)
		if borrow != 0 {
			t = r
		}
		*at(keys, last+1), *at(refs, last+1) = max(x, y), t
		last--
	}
	return n - int(fromB), int(fromB), int(back), int(last - back)
}

// finish merges when one of the inputs has one record or none.
func finish(dst, a, b sequence, tieFromB func(i, j int) bool) {
	switch {
	case len(a.keys) == 1:
		n := sort.Search(len(b.keys), func(j int) bool {
			return b.keys[j] > a.keys[0] || b.keys[j] == a.keys[0] && !tieFromB(0, j)
		})
		dst = dst.copyFrom(b.part(0, n))
		b = b.part(n, len(b.keys))
	case len(b.keys) == 1:
		n := sort.Search(len(a.keys), func(i int) bool {
			return b.keys[0] < a.keys[i] || b.keys[0] == a.keys[i] && tieFromB(i, 0)
		})
		dst = dst.copyFrom(a.part(0, n)).copyFrom(b)
		a, b = a.part(n, len(a.keys)), b.part(0, 0)
	}
	dst.copyFrom(a).copyFrom(b)
}
