package merge

import (
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// isNative reports whether records are words that are their own keys, so that there is nothing to extract.
func isNative(k *format.Keyer) bool { return k.Identity() && k.KeySize() == 8 }

// newBuffers makes buffers for blocks of n records in one arena. Pages of it that no buffer uses are never touched.
func newBuffers(k *format.Keyer, buffers, n int) ([][]byte, *arena.Memory, error) {
	each := int(max(plan.MergeBuffer(k, n), 8))
	memory, err := arena.Alloc(buffers * each)
	if err != nil {
		return nil, nil, fmt.Errorf("merge: %w", err)
	}
	return slices.Collect(slices.Chunk(memory.Bytes(), each)), memory, nil
}

// block is consecutive records of one input in memory.
type block struct {
	input int
	first int64 // index in the input of its first record
	keys  []uint64
	recs  []byte

	buf     []byte
	free    chan<- []byte // where buf goes when nobody holds the block any more
	holders atomic.Int32  // spans that still need it, and the queue as long as it does
}

// newBlock makes a block of recs, which were read into buf. A reader that has the records in memory already may return
// them from elsewhere; they are copied only where words would not be aligned. Behind records that are not their own
// keys come the prefixes of their keys.
func newBlock(k *format.Keyer, input int, first int64, recs, buf []byte, free chan<- []byte) *block {
	b := &block{input: input, first: first, recs: recs, buf: buf, free: free}
	b.holders.Store(1)
	if !isNative(k) {
		b.keys = arena.View[uint64](buf[(len(recs)+7)&^7:])[:len(recs)/k.Layout().RecordSize]
		k.Prefixes(b.keys, recs)
		return b
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(recs)))%8 != 0 {
		b.recs = buf[:copy(buf, recs)]
	}
	b.keys = arena.View[uint64](b.recs)
	return b
}

// release gives back one hold; the last one frees the memory. The channel has room for all buffers.
func (b *block) release() {
	if b.holders.Add(-1) == 0 {
		b.free <- b.buf
	}
}

// disorder is the error that a record belongs before the one it follows, nil if none does.
func (b *block) disorder(k *format.Keyer) error {
	if i := disorder(k, b.keys, b.recs); i >= 0 {
		size := k.Layout().RecordSize
		key, before := k.Append(nil, b.recs[i*size:]), k.Append(nil, b.recs[(i-1)*size:])
		return &DisorderError{b.input, b.first + int64(i), key, before}
	}
	return nil
}

// disorder is the index of the first record of recs that belongs before the one it follows, or -1.
func disorder(k *format.Keyer, keys []uint64, recs []byte) int {
	wide, size := k.KeySize() > 8, k.Layout().RecordSize
	if !wide && !fall(keys) {
		return -1
	}
	for i := 1; i < len(keys); i++ {
		if keys[i-1] < keys[i] {
			continue
		}
		if keys[i-1] > keys[i] || wide && k.Compare(recs[(i-1)*size:i*size], recs[i*size:(i+1)*size]) > 0 {
			return i
		}
	}
	return -1
}

// fall reports whether a key is less than the one before it. No branch depends on which ones are equal.
func fall(keys []uint64) bool {
	var fallen uint64
	for i := 1; i < len(keys); i++ {
		_, less := bits.Sub64(keys[i], keys[i-1], 0)
		fallen |= less
	}
	return fallen != 0
}

// stretch is consecutive records of a block with the prefixes of their keys.
type stretch struct {
	keys  []uint64
	recs  []byte
	block *block
}

// part is the records from index from to index to.
func (s stretch) part(from, to, recordSize int) stretch {
	return stretch{keys: s.keys[from:to], recs: s.recs[from*recordSize : to*recordSize], block: s.block}
}
