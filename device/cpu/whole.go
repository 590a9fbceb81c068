package cpu

import (
	"context"
	"errors"
	"math/bits"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// word is the word that a small record is moved in, at its start.
type word interface{ uint64 | [2]uint64 }

const (
	// maxWhole is the largest record that is moved whole, and the longest key of such a record, in bytes.
	maxWhole = 16

	// A worker reads up to wholeUnit bytes of such records at a time, so that there are about segmentsTarget of a unit
	// each: more of them make short pieces of large buckets, though in cache a unit of unitBytes is read best.
	wholeUnit      = 1 << 20
	segmentsTarget = 1 << 9

	// refBytes is the size of what is sorted in cache in place of such a record: of bits of its key, and of its place.
	refBytes = 8
)

// wordBytes is the size of the word that records are moved in, or 0 if they are not moved whole.
func wordBytes(k *format.Keyer) int {
	switch size := k.Layout().RecordSize; {
	case keyBytes(k) > 0 || size > maxWhole || k.KeySize() > maxWhole:
		return 0
	case size <= 8:
		return 8
	}
	return 16
}

// wholes is the kind of a chunk of small records. They are moved whole, with their keys, as one of 16 bytes takes a
// line or two of the cache wherever it is fetched from:
//
//	Load   scatters them to buckets by the prefixes of their keys, and remembers in which order (order.go).
//	Sort   splits buckets that do not fit in cache (split.go).
//	Store  copies a bucket into cache, in the order of the input; sorts references, of bits of the key and the place
//	       there; and writes the records as they say (finish).
//
// Against records that stay where they were loaded, beside elements with their indexes, memory holds only
// records, and is read in sequence.
type wholes[R word] struct {
	engine *engine[uint64, R]
	keyer  *format.Keyer // of words
	size   int           // bytes of a record
	input  *format.Keyer // of records
	key    []uint64      // the bits of a word that are of its key
}

func newWholes[R word](opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	layout := opt.Keyer.Layout()
	layout.RecordSize = s.element
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return nil, err
	}
	e, err := newEngine[uint64, R](opt, s)
	if err != nil {
		return nil, err
	}
	if e.order, err = newOrder(s.segments(), s.buckets(s.records)); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.kind = &wholes[R]{engine: e, keyer: keyer, size: s.record, input: opt.Keyer, key: keyBits(layout)}
	return e, nil
}

// keyBits is a record of whole words in which the bits of the key are set. Records have the same key if they are
// the same there. Those that differ there may have the same key as well, if zeros or NaNs are equal.
func keyBits(l format.Layout) []uint64 {
	bits := make([]uint64, l.RecordSize/8)
	for _, f := range l.Key {
		for i := range f.Type.KeyBytes() {
			arena.ByteView(bits)[f.Offset+f.Type.Place(i)] = 0xff
		}
	}
	return bits
}

func (c *wholes[R]) fromPrefix(prefix uint64) uint64 { return prefix }
func (c *wholes[R]) tieBits(int) uint                { return 0 }

func (c *wholes[R]) extract(w *worker[uint64, R], recs []byte, _ int64) (keys []uint64, words []R) {
	n := len(recs) / c.size
	keys, words = w.keys[:n], w.elems[:n]
	c.input.Prefixes(keys, recs)
	if c.inPlace() {
		return keys, arena.View[R](recs)
	}
	pad(words, recs, c.size)
	return keys, words
}

// inPlace says that records are words.
func (c *wholes[R]) inPlace() bool { return c.size == c.keyer.Layout().RecordSize }

// keyRest is the number of the first bit of the key that a prefix has not.
const keyRest = 64

// keysOf is the prefixes of the keys of words, or their rests.
func (c *wholes[R]) keysOf(w *worker[uint64, R], words []R, from int) []uint64 {
	keys := w.keys[:len(words)]
	if from == keyRest {
		c.keyer.Windows(keys, arena.ByteView(words), keyRest, 64)
	} else {
		c.keyer.Prefixes(keys, arena.ByteView(words))
	}
	return keys
}

// tied goes on with the rests of the keys.
func (c *wholes[R]) tied(_ context.Context, l *leaf[uint64]) error {
	l.done = l.from == keyRest || 8*c.keyer.KeySize() <= keyRest
	l.from = keyRest
	return nil
}

func (c *wholes[R]) records(dst []byte, words []R) []byte {
	if c.inPlace() {
		return arena.ByteView(words)
	}
	unpad(dst[:len(words)*c.size], words, c.size)
	return dst[:len(words)*c.size]
}

// pad makes words of records of size bytes. What a record leaves of its word is of no account.
func pad[R word](words []R, recs []byte, size int) {
	whole := wholeWords[R](len(recs), size)
	for i := range words[:whole] {
		words[i] = *(*R)(unsafe.Pointer(&recs[i*size]))
	}
	for i := whole; i < len(words); i++ {
		copy(arena.ByteView(words[i:i+1]), recs[i*size:(i+1)*size])
	}
}

// unpad is the inverse of pad. REQUIRES: dst has n·size bytes, n = len(words).
func unpad[R word](dst []byte, words []R, size int) {
	whole := wholeWords[R](len(dst), size)
	for i, word := range words[:whole] {
		*(*R)(unsafe.Pointer(&dst[i*size])) = word // the next one covers what is too much
	}
	for i := whole; i < len(words); i++ {
		copy(dst[i*size:(i+1)*size], arena.ByteView(words[i:i+1]))
	}
}

// wholeWords is how many records of size bytes begin so far before the end of bytes that a word can be read there.
func wholeWords[R word](bytes, size int) int {
	var word R
	if most := bytes - int(unsafe.Sizeof(word)); most >= 0 {
		return most/size + 1
	}
	return 0
}

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

// sameKeys reports whether all records of a group are the same in the bits of the key, and so have the same key. For
// equal keys that look different, such as two zeros, it returns false, and settle finds that they are equal.
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
