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

// word is the word in which a small record is moved. The record is at its start.
type word interface{ uint64 | [2]uint64 }

const (
	// maxWhole is the maximum size in bytes of a record that is moved whole, and of its key.
	maxWhole = 16

	// A worker reads up to wholeUnit bytes of such records at a time, so that there are about
	// segmentsTarget segments of one unit each. More segments would divide large buckets into
	// short pieces, even though a smaller unit of unitBytes fits the cache better.
	wholeUnit      = 1 << 20
	segmentsTarget = 1 << 9

	// refBytes is the size of the reference that is sorted in place of such a record: bits of its
	// key, and its position.
	refBytes = 8
)

// wordBytes returns the size of the word in which records are moved, or 0 if they are not moved
// whole.
func wordBytes(k *format.Keyer) int {
	switch size := k.Layout().RecordSize; {
	case keyBytes(k) > 0 || size > maxWhole || k.KeySize() > maxWhole:
		return 0
	case size <= 8:
		return 8
	}
	return 16
}

// wholes is the kind of small records that are moved whole, with their keys. A record of 16 bytes
// would cost one or two cache lines wherever it was fetched from.
//
//	Load   scatters records to buckets by the prefixes of their keys, and remembers their order
//	       (order.go).
//	Sort   splits buckets that do not fit into the cache (split.go).
//	Store  copies a bucket into the cache in input order. It sorts references, which consist of
//	       bits of the key and the position in the bucket, and writes the records in the order of
//	       the references (sortLeaf).
//
// Compared with records next to elements with indexes, memory contains only records and is read
// sequentially.
type wholes[R word] struct {
	pipeline    *pipeline[uint64, R]
	wordKeyer   *format.Keyer // of words
	recordBytes int           // record size in bytes
	recordKeyer *format.Keyer // of records
	keyMask     []uint64      // mask of the key bits in a word
}

func newWholes[R word](opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	layout := opt.Keyer.Layout()
	layout.RecordSize = s.elementBytes
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return nil, err
	}
	e, err := newPipeline[uint64, R](opt, s)
	if err != nil {
		return nil, err
	}
	if e.order, err = newOrder(s.maxSegments(), s.bucketsFor(s.records)); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.kind = &wholes[R]{
		pipeline:    e,
		wordKeyer:   keyer,
		recordBytes: s.recordBytes,
		recordKeyer: opt.Keyer,
		keyMask:     keyBits(layout),
	}
	return e, nil
}

// keyBits returns a mask of the key bits in a record of whole words. Records with equal bits
// under the mask have equal keys. Records with different bits may have equal keys as well, if
// zeros or NaNs are equal.
func keyBits(l format.Layout) []uint64 {
	bits := make([]uint64, l.RecordSize/8)
	for _, f := range l.Key {
		for i := range f.Type.KeyBytes() {
			arena.ByteView(bits)[f.Offset+f.Type.Place(i)] = 0xff
		}
	}
	return bits
}

func (c *wholes[R]) fromPrefix(prefix uint64) uint64 {
	return prefix
}

func (c *wholes[R]) tieBits(int) uint {
	return 0
}

func (c *wholes[R]) extract(
	w *worker[uint64, R],
	recs []byte,
	_ int64,
) (keys []uint64, words []R) {
	n := len(recs) / c.recordBytes
	keys = w.batchKeys[:n]
	words = w.batchElems[:n]
	c.recordKeyer.Prefixes(keys, recs)
	if c.areWords() {
		return keys, arena.View[R](recs)
	}
	pad(words, recs, c.recordBytes)
	return keys, words
}

// areWords reports whether records are words without padding.
func (c *wholes[R]) areWords() bool {
	return c.recordBytes == c.wordKeyer.Layout().RecordSize
}

// prefixEnd is the index of the first bit of the key after its prefix.
const prefixEnd = 64

// keysOf returns the prefixes of the keys of words, or the rest of these keys.
func (c *wholes[R]) keysOf(
	w *worker[uint64, R],
	words []R,
	from int,
) []uint64 {
	keys := w.batchKeys[:len(words)]
	if from == prefixEnd {
		c.wordKeyer.BitRanges(keys, arena.ByteView(words), prefixEnd, 64)
	} else {
		c.wordKeyer.Prefixes(keys, arena.ByteView(words))
	}
	return keys
}

// refineTied replaces the keys by the rest of the records' keys.
func (c *wholes[R]) refineTied(_ context.Context, l *leaf[uint64]) error {
	l.isSorted = l.keyFrom == prefixEnd || 8*c.wordKeyer.KeySize() <= prefixEnd
	l.keyFrom = prefixEnd
	return nil
}

func (c *wholes[R]) recordsOf(dst []byte, words []R) []byte {
	if c.areWords() {
		return arena.ByteView(words)
	}
	unpad(dst[:len(words)*c.recordBytes], words, c.recordBytes)
	return dst[:len(words)*c.recordBytes]
}

// pad makes words from records of size bytes. The rest of a word has an arbitrary value.
func pad[R word](words []R, recs []byte, size int) {
	whole := wholeWords[R](len(recs), size)
	for i := range words[:whole] {
		words[i] = *(*R)(unsafe.Pointer(&recs[i*size]))
	}
	for i := whole; i < len(words); i++ {
		copy(arena.ByteView(words[i:i+1]), recs[i*size:(i+1)*size])
	}
}

// unpad is the inverse of pad. REQUIRES: len(dst) == len(words)·size
func unpad[R word](dst []byte, words []R, size int) {
	whole := wholeWords[R](len(dst), size)
	for i, word := range words[:whole] {
		// The next record overwrites the excess bytes.
		*(*R)(unsafe.Pointer(&dst[i*size])) = word
	}
	for i := whole; i < len(words); i++ {
		copy(dst[i*size:(i+1)*size], arena.ByteView(words[i:i+1]))
	}
}

// wholeWords returns how many records of size bytes can be accessed as words without crossing the
// end of the given number of bytes.
func wholeWords[R word](bytes, size int) int {
	var word R
	most := bytes - int(unsafe.Sizeof(word))
	if most >= 0 {
		return most/size + 1
	}
	return 0
}

// sortLeaf copies the records of a leaf to w.recs and returns references to them in key order.
func (c *wholes[R]) sortLeaf(
	w *worker[uint64, R],
	l *leaf[uint64],
	_ []byte,
) []uint64 {
	if w.references == nil {
		w.references = newRecords(
			c.wordKeyer,
			arena.ByteView(w.leafElems),
			int64(len(w.leafElems)),
		)
	}
	recs := w.leafElems[:l.count]
	refs := w.leafKeys[:l.count]
	tmp := w.leafTmp[:l.count]
	rest := recs
	for piece := range c.pipeline.pieces(l, 0) {
		rest = rest[copy(rest, piece):]
	}
	c.wordKeyer.Prefixes(refs, arena.ByteView(recs))
	low, high := radix.MinMax(refs)
	prefixBits := c.wordKeyer.PrefixBits()
	keyBits := 8 * c.wordKeyer.KeySize()
	from := prefixBits - bits.Len64(low^high)
	held := w.references.heldKeyBits
	indexBits := w.references.indexBits
	if from+held <= prefixBits || keyBits == prefixBits {
		up := uint(64 - prefixBits + from)
		down := uint(64 - held)
		for i, prefix := range refs {
			refs[i] = prefix<<up>>down<<indexBits | uint64(i)
		}
	} else {
		c.wordKeyer.BitRanges(refs, arena.ByteView(recs), from, held)
		for i, keyBits := range refs {
			refs[i] = keyBits<<indexBits | uint64(i)
		}
	}
	left := keyBits - from
	if left <= 2*radix.DigitBits {
		// The references are already ordered by position, so these bits need not be sorted.
		w.radix.SortBits(refs, tmp, 0, indexBits+uint(held-left), left)
		return refs
	}
	w.radix.SortInPlace(refs, tmp)
	c.refine(w, refs, tmp, from)
	return refs
}

// refine sorts neighbors whose references tie although their keys may differ in later bits.
// References contain the key from bit from on. They contain the rest of most keys, so ties nearly
// always have equal keys and are already in order.
func (c *wholes[R]) refine(
	w *worker[uint64, R],
	refs, tmp []uint64,
	from int,
) {
	tieBits := w.references.tieBits(from)
	if tieBits == 0 {
		return
	}
	for i, end := 0, 0; i < len(refs); i = end {
		end = endOfTie(refs, i, tieBits)
		group := refs[i:end]
		if len(group) > 1 && !c.sameKeys(w, group) {
			w.references.sortTies(&w.radix, group, tmp[i:end], from)
		}
	}
}

// sameKeys reports whether all records of a group have the same key bits, and therefore equal
// keys. For equal keys with different bits, such as two zeros, it returns false; sortTies then
// finds that they are equal.
func (c *wholes[R]) sameKeys(
	w *worker[uint64, R],
	group []uint64,
) bool {
	recs := arena.View[uint64](arena.ByteView(w.leafElems))
	mask := w.references.indexMask()
	words := uint64(len(c.keyMask))

	for k, key := range c.keyMask {
		first := recs[(group[0]&mask)*words+uint64(k)]
		differ := uint64(0)
		for _, ref := range group[1:] {
			differ |= recs[(ref&mask)*words+uint64(k)] ^ first
		}
		if differ&key != 0 {
			return false
		}
	}

	return true
}

func (c *wholes[R]) gatherRecords(
	w *worker[uint64, R],
	dst []byte,
	refs []uint64,
) []byte {
	dst = dst[:len(refs)*c.recordBytes]
	if c.areWords() {
		c.storeElements(w, arena.View[R](dst), refs)
		return dst
	}
	recs := w.leafElems
	mask := w.references.indexMask()
	size := c.recordBytes
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

func (c *wholes[R]) storeElements(
	w *worker[uint64, R],
	dst []R,
	refs []uint64,
) {
	recs := w.leafElems
	mask := w.references.indexMask()
	dst = dst[:len(refs)]
	for i, ref := range refs {
		dst[i] = recs[ref&mask]
	}
}
