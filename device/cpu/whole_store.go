package cpu

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/radix"
)

func (c *wholes[R]) store(ctx context.Context, w *wholeWorker[R], t task[uint64], to device.BlockWriter) error {
	switch {
	case t.leaves[0].done:
		return c.engine.storeDone(ctx, t, w.out, to)
	case len(t.leaves) > 1:
		n := 0
		for i := 0; n < int(t.count); i++ {
			refs := c.sorted(w, &t.leaves[i])
			refs = refs[:min(len(refs), int(t.count)-n)]
			w.follow(w.out[n*c.engine.record:], refs, c.engine.record)
			n += len(refs)
		}
		return to.WriteBlock(ctx, t.first, w.out[:n*c.engine.record])
	}
	refs := c.sorted(w, &t.leaves[0])
	return writeInBlocks(ctx, to, t.first, int(t.count), c.engine.out, func(from, n int) []byte {
		w.follow(w.out, refs[from:from+n], c.engine.record)
		return w.out[:n*c.engine.record]
	})
}

// keeps is false where a leaf that is too large for the cache is in order as it stands: each read goes through it
// from its start.
func (c *wholes[R]) keeps(context.Context) (bool, error) {
	most := maxKeptLeaves * int64(c.engine.leaf)
	return !slices.ContainsFunc(c.engine.leaves, func(l leaf[uint64]) bool { return l.count > most }), nil
}

func (c *wholes[R]) besideBytes() int64 { return int64(c.engine.orderBytes()) }

// settle puts the records of a leaf in order where they lie: nobody needs the order of the input any more.
func (c *wholes[R]) settle(w *wholeWorker[R], l *leaf[uint64]) {
	refs, mask := c.sorted(w, l), w.window.indexMask()
	for piece := range c.pieces(l, 0) {
		for j, ref := range refs[:len(piece)] {
			piece[j] = w.recs[ref&mask]
		}
		refs = refs[len(piece):]
	}
}

// sorted copies the records of a part to w.recs, and gives references to them in order.
func (c *wholes[R]) sorted(w *wholeWorker[R], l *leaf[uint64]) []uint64 {
	recs, refs, tmp := w.recs[:l.count], w.refs[:l.count], w.tmp[:l.count]
	rest := recs
	for piece := range c.pieces(l, 0) {
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
		p := radix.Exactly(left)
		p.Shift = indexBits + uint(held-left)
		w.radix.Reorder(refs, tmp, w.radix.One(refs), 0, p)
		return refs
	}
	w.radix.SortInPlace(refs, tmp)
	c.refine(w, refs, tmp, from)
	return refs
}

// refine orders neighbours that tie in what references hold of the key, from bit from on, before it ends. Nearly always
// they have the same key and are in order, as the references hold the rest of most keys.
func (c *wholes[R]) refine(w *wholeWorker[R], refs, tmp []uint64, from int) {
	tieBits, mask := w.window.tieBits(from), w.window.indexMask()
	if tieBits == 0 {
		return
	}
	var keys []uint64 // whole ones
	for i, end := 0, 0; i < len(refs); i = end {
		end = endOfTie(refs, i, tieBits)
		group := refs[i:end]
		switch {
		case len(group) == 1 || w.sameKeys(c.key, group):
		case c.longKeys():
			settle(w.window, &w.radix, group, tmp[i:end], from)
		default:
			if keys == nil {
				keys = tmp
				c.keyer.Prefixes(keys, arena.ByteView(w.recs[:len(refs)]))
			}
			slices.SortStableFunc(group, func(a, b uint64) int { return cmp.Compare(keys[a&mask], keys[b&mask]) })
		}
	}
}

// sameKeys reports whether all records of a group have the same key, which is in the given bits of a record.
func (w *wholeWorker[R]) sameKeys(key, group []uint64) bool {
	recs, mask, words := arena.View[uint64](arena.ByteView(w.recs)), w.window.indexMask(), uint64(len(key))
	for k, key := range key {
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

// follow writes the records, of so many bytes, that refs refer to.
func (w *wholeWorker[R]) follow(dst []byte, refs []uint64, size int) {
	var word R
	recs, mask := w.recs, w.window.indexMask()
	if size == int(unsafe.Sizeof(word)) {
		out := arena.View[R](dst)[:len(refs)]
		for i, ref := range refs {
			out[i] = recs[ref&mask]
		}
		return
	}
	dst = dst[:len(refs)*size]
	whole := wholeWords[R](len(dst), size)
	for i, ref := range refs[:whole] {
		*(*R)(unsafe.Pointer(&dst[i*size])) = recs[ref&mask] // as in unpad
	}
	for i := whole; i < len(refs); i++ {
		at := refs[i] & mask
		copy(dst[i*size:], arena.ByteView(recs[at : at+1])[:size])
	}
}

func (c *wholes[R]) records(dst []byte, words []R) []byte {
	if c.engine.record == c.engine.element {
		return arena.ByteView(words)
	}
	unpad(dst[:len(words)*c.engine.record], words, c.engine.record)
	return dst[:len(words)*c.engine.record]
}
