package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/radix"
)

// finish copies the records of a leaf to w.recs, and gives references to them in order.
func (c *wholes[R]) finish(w *worker[uint64, R], l *leaf[uint64], _ []byte) []uint64 {
	if w.window == nil {
		w.window = newRecords(c.keyer, arena.ByteView(w.recs), int64(len(w.recs)))
	}
	recs, refs, tmp := w.recs[:l.count], w.a[:l.count], w.b[:l.count]
	rest := recs
	for piece := range c.engine.pieces(l, 0) {
		rest = rest[copy(rest, piece):]
	}
	c.keyer.Prefixes(refs, arena.ByteView(recs))
	low, high := radix.MinMax(refs)
	prefixBits, keyBits := c.keyer.PrefixBits(), 8*c.keyer.KeySize()
	from := prefixBits - bits.Len64(low^high)
	held, indexBits := w.window.windowBits, w.window.indexBits
	if from+held <= prefixBits || keyBits == prefixBits {
		up, down := uint(64-prefixBits+from), uint(64-held)
		for i, prefix := range refs {
			refs[i] = prefix<<up>>down<<indexBits | uint64(i)
		}
	} else {
		c.keyer.Windows(refs, arena.ByteView(recs), from, held)
		for i, window := range refs {
			refs[i] = window<<indexBits | uint64(i)
		}
	}
	if left := keyBits - from; left <= 2*radix.DigitBits {
		// The references are in the order of the places: that need not be ranked.
		w.radix.SortBits(refs, tmp, 0, indexBits+uint(held-left), left)
		return refs
	}
	w.radix.SortInPlace(refs, tmp)
	c.refine(w, refs, tmp, from)
	return refs
}

// refine orders neighbours that tie in what references hold of the key, from bit from on, before it ends. Nearly always
// they have the same key and are in order, as the references hold the rest of most keys.
func (c *wholes[R]) refine(w *worker[uint64, R], refs, tmp []uint64, from int) {
	tieBits := w.window.tieBits(from)
	if tieBits == 0 {
		return
	}
	for i, end := 0, 0; i < len(refs); i = end {
		end = endOfTie(refs, i, tieBits)
		if group := refs[i:end]; len(group) > 1 && !c.sameKeys(w, group) {
			w.window.settle(&w.radix, group, tmp[i:end], from)
		}
	}
}

// sameKeys reports whether all records of a group have the same key, which is in the given bits of a record.
func (c *wholes[R]) sameKeys(w *worker[uint64, R], group []uint64) bool {
	recs, mask, words := arena.View[uint64](arena.ByteView(w.recs)), w.window.indexMask(), uint64(len(c.key))
	for k, key := range c.key {
		first, differ := recs[(group[0]&mask)*words+uint64(k)], uint64(0)
		for _, ref := range group[1:] {
			differ |= recs[(ref&mask)*words+uint64(k)] ^ first
		}
		if differ&key != 0 {
			return false
		}
	}
	return true
}

func (c *wholes[R]) gather(w *worker[uint64, R], dst []byte, refs []uint64) []byte {
	dst = dst[:len(refs)*c.size]
	if c.inPlace() {
		c.place(w, arena.View[R](dst), refs)
		return dst
	}
	recs, mask, size := w.recs, w.window.indexMask(), c.size
	whole := wholeWords[R](len(dst), size)
	for i, ref := range refs[:whole] {
		*(*R)(unsafe.Pointer(&dst[i*size])) = recs[ref&mask] // as in unpad
	}
	for i := whole; i < len(refs); i++ {
		at := refs[i] & mask
		copy(dst[i*size:], arena.ByteView(recs[at : at+1])[:size])
	}
	return dst
}

func (c *wholes[R]) place(w *worker[uint64, R], dst []R, refs []uint64) {
	recs, mask := w.recs, w.window.indexMask()
	dst = dst[:len(refs)]
	for i, ref := range refs {
		dst[i] = recs[ref&mask]
	}
}
