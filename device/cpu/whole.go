package cpu

import (
	"context"
	"errors"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
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
//	       there; and writes the records as they say (whole_finish.go).
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
// the same there, as each value of a field has one key.
func keyBits(l format.Layout) []uint64 {
	bits := make([]uint64, l.RecordSize/8)
	for _, f := range l.Key {
		for i := range f.Type.Size {
			arena.ByteView(bits)[f.Offset+i] = 0xff
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
