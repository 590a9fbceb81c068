package merge

import (
	"math/bits"
	"sort"
	"unsafe"
)

// A sequence is a list of keys in ascending order. If records are more than their keys, each key
// has a reference to its record.
type sequence struct {
	keys []uint64
	refs []ref
}

// A ref identifies a record of a tile: the index of its stretch in the upper 32 bits, and its
// index within the stretch in the lower 32 bits.
type ref uint64

// slice returns s[from:to].
func (s sequence) slice(from, to int) sequence {
	s.keys = s.keys[from:to]
	if s.refs != nil {
		s.refs = s.refs[from:to]
	}
	return s
}

// copyFrom copies a to the beginning of s and returns the rest of s.
func (s sequence) copyFrom(a sequence) sequence {
	copy(s.keys, a.keys)
	if s.refs != nil {
		copy(s.refs, a.refs)
	}
	return s.slice(len(a.keys), len(s.keys))
}

// The two-way merges below work from both ends at once. The front takes the smaller of two heads,
// and that of a if they are equal. The back takes the larger of two tails, and that of b if they
// are equal. Both decisions advance the indexes by the borrow of a subtraction. There is no
// branch that random keys would cause to be mispredicted, and the processor works on both ends in
// parallel. (This is the "parity merge" of I. van den Hoven's quadsort and the "bidirectional
// merge" of O. Peters's glidesort.)
//
// One step takes at most one record of each input at each end. So the first min(len(a), len(b))/2
// steps need no check for the end of an input. After them, the rest is treated the same way.

// steps returns the number of steps at both ends that need no check for the end of an input.
func steps(a, b int) int { return min(a, b) / 2 }

// mergeKeys merges a and b into dst. REQUIRES: dst has room for both and overlaps neither
func mergeKeys(dst, a, b []uint64) {
	dst, a, b = mergeVectors(dst[:len(a)+len(b)], a, b)
	for n := steps(len(a), len(b)); n > 0; n = steps(len(a), len(b)) {
		i, j, p, q := keySteps(n, unsafe.Pointer(unsafe.SliceData(dst)),
			unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b)), len(a)-1, len(b)-1)
		dst = dst[i+j : p+q+2]
		a = a[i : p+1]
		b = b[j : q+1]
	}
	finish(sequence{keys: dst}, sequence{keys: a}, sequence{keys: b}, func(_, _ int) bool {
		return false
	})
}

// keySteps makes n steps at both ends. Afterwards, the indexes i to p of a and j to q of b are
// left.
//
// At the front it counts only j, because i and j add up to the step number s; at the back it
// counts only p. So the borrow goes directly into one counter with an add-with-carry, which is
// the shortest path from a comparison to the next address. All accesses stay within the slices of
// mergeKeys, because n is at most half the length of either input.
func keySteps(
	n int, dst, a, b unsafe.Pointer, aLast, bLast int,
) (i, j, p, q int) {
	var fromB, borrow uint64
	back := uint64(aLast)
	last := uint64(aLast + bLast)
	for s := uint64(0); s < uint64(n); s++ {
		x := load(a, s-fromB)
		y := load(b, fromB)
		*wordAt(dst, s) = min(x, y)
		_, borrow = bits.Sub64(y, x, 0)
		fromB, _ = bits.Add64(fromB, 0, borrow)

		x = load(a, back)
		y = load(b, last-back)
		*wordAt(dst, last+1) = max(x, y)
		_, borrow = bits.Sub64(y, x, 0)
		back, _ = bits.Sub64(back, 0, borrow)
		last--
	}
	return n - int(fromB), int(fromB), int(back), int(last - back)
}

func wordAt(base unsafe.Pointer, i uint64) *uint64 {
	return (*uint64)(unsafe.Add(base, i*8))
}
func load(base unsafe.Pointer, i uint64) uint64 {
	return *wordAt(base, i)
}

// mergeRefs merges keys with references, as mergeKeys does for keys alone. If two keys are equal
// prefixes, tieFromB reports whether the record of b comes first. It may be nil.
func mergeRefs(dst, a, b sequence, tieFromB func(ra, rb ref) bool) {
	dst = dst.slice(0, len(a.keys)+len(b.keys))
	for n := steps(len(a.keys), len(b.keys)); n > 0; n = steps(len(a.keys), len(b.keys)) {
		i, j, p, q := refSteps(n, dst, a, b, tieFromB)
		dst = dst.slice(i+j, p+q+2)
		a = a.slice(i, p+1)
		b = b.slice(j, q+1)
	}
	finish(dst, a, b, func(i, j int) bool {
		return tieFromB != nil && tieFromB(a.refs[i], b.refs[j])
	})
}

// refSteps is keySteps with references, which move with their keys, and with tieFromB for equal
// keys.
func refSteps(
	n int, dst, a, b sequence, tieFromB func(ra, rb ref) bool,
) (i, j, p, q int) {
	keys, aKeys, bKeys := unsafe.Pointer(&dst.keys[0]), unsafe.Pointer(&a.keys[0]), unsafe.Pointer(&b.keys[0])
	refs, aRefs, bRefs := unsafe.Pointer(&dst.refs[0]), unsafe.Pointer(&a.refs[0]), unsafe.Pointer(&b.refs[0])
	var fromB, borrow uint64
	back := uint64(len(a.keys) - 1)
	last := uint64(len(a.keys) + len(b.keys) - 2)
	for s := uint64(0); s < uint64(n); s++ {
		x := load(aKeys, s-fromB)
		y := load(bKeys, fromB)
		r := load(aRefs, s-fromB)
		t := load(bRefs, fromB)
		_, borrow = bits.Sub64(y, x, 0)
		if x == y && tieFromB != nil && tieFromB(ref(r), ref(t)) {
			borrow = 1
		}
		fromB, _ = bits.Add64(fromB, 0, borrow)
		if borrow != 0 {
			r = t // compiled to a conditional move
		}
		*wordAt(keys, s), *wordAt(refs, s) = min(x, y), r

		x = load(aKeys, back)
		y = load(bKeys, last-back)
		r = load(aRefs, back)
		t = load(bRefs, last-back)
		_, borrow = bits.Sub64(y, x, 0)
		if x == y && tieFromB != nil && tieFromB(ref(r), ref(t)) {
			borrow = 1
		}
		back, _ = bits.Sub64(back, 0, borrow)
		if borrow != 0 {
			t = r
		}
		*wordAt(keys, last+1), *wordAt(refs, last+1) = max(x, y), t
		last--
	}
	return n - int(fromB), int(fromB), int(back), int(last - back)
}

// finish completes a merge in which one of the inputs has at most one record.
func finish(dst, a, b sequence, tieFromB func(i, j int) bool) {
	switch {
	case len(a.keys) == 1:
		n := sort.Search(len(b.keys), func(j int) bool {
			return b.keys[j] > a.keys[0] ||
				b.keys[j] == a.keys[0] && !tieFromB(0, j)
		})
		dst = dst.copyFrom(b.slice(0, n))
		b = b.slice(n, len(b.keys))
	case len(b.keys) == 1:
		n := sort.Search(len(a.keys), func(i int) bool {
			return b.keys[0] < a.keys[i] ||
				b.keys[0] == a.keys[i] && tieFromB(i, 0)
		})
		dst = dst.copyFrom(a.slice(0, n)).copyFrom(b)
		a = a.slice(n, len(a.keys))
		b = b.slice(0, 0)
	}
	dst.copyFrom(a).copyFrom(b)
}
