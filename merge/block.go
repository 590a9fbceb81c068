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

// isNative reports whether a record is a single word that is its own key. Such records need no
// key extraction.
func isNative(k *format.Keyer) bool {
	return k.Identity() && k.KeySize() == 8
}

// newBuffers allocates buffers for blocks of n records in one arena. Pages of the arena that no
// buffer uses are never touched.
func newBuffers(
	k *format.Keyer, buffers, n int,
) ([][]byte, *arena.Memory, error) {
	each := int(max(plan.MergeBuffer(k, n), 8))
	memory, err := arena.Alloc(buffers * each)
	if err != nil {
		return nil, nil, fmt.Errorf("merge: %w", err)
	}
	return slices.Collect(slices.Chunk(memory.Bytes(), each)), memory, nil
}

// A block is a sequence of consecutive records of one input, held in memory.
type block struct {
	input int
	first int64 // index of its first record within the input
	keys  []uint64
	recs  []byte

	buf     []byte
	free    chan<- []byte // receives buf after the last holder releases the block
	holders atomic.Int32  // spans that use the block, plus 1 while it is queued in the cutter
}

// newBlock returns a block of recs, which were read into buf. A reader whose records are already
// in memory may return recs from elsewhere; newBlock copies them only if their words are not
// aligned. If records are not their own keys, their key prefixes are stored in buf, after the
// records.
func newBlock(
	k *format.Keyer,
	input int,
	first int64,
	recs, buf []byte,
	free chan<- []byte,
) *block {
	b := &block{
		input: input,
		first: first,
		recs:  recs,
		buf:   buf,
		free:  free,
	}
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

// release drops one hold on the block. The last release returns the buffer; the channel has room
// for all buffers, so this never blocks.
func (b *block) release() {
	if b.holders.Add(-1) == 0 {
		b.free <- b.buf
	}
}

// checkOrder returns a DisorderError if a record of b belongs before its predecessor.
func (b *block) checkOrder(k *format.Keyer) error {
	i := firstDisorder(k, b.keys, b.recs)
	if i >= 0 {
		size := k.Layout().RecordSize
		key := k.Append(nil, b.recs[i*size:])
		before := k.Append(nil, b.recs[(i-1)*size:])
		return &DisorderError{b.input, b.first + int64(i), key, before}
	}
	return nil
}

// firstDisorder returns the index of the first record of recs that belongs before its
// predecessor, or -1.
func firstDisorder(k *format.Keyer, keys []uint64, recs []byte) int {
	wide := k.KeySize() > 8
	size := k.Layout().RecordSize
	if !wide && !hasDescent(keys) {
		return -1
	}
	for i := 1; i < len(keys); i++ {
		if keys[i-1] < keys[i] {
			continue
		}
		if keys[i-1] > keys[i] ||
			wide && k.Compare(
				recs[(i-1)*size:i*size], recs[i*size:(i+1)*size],
			) > 0 {
			return i
		}
	}

	return -1
}

// hasDescent reports whether any key is less than its predecessor. The loop has no branch that
// depends on the keys.
func hasDescent(keys []uint64) bool {
	var descent uint64
	for i := 1; i < len(keys); i++ {
		_, less := bits.Sub64(keys[i], keys[i-1], 0)
		descent |= less
	}
	return descent != 0
}

// A stretch is a sequence of consecutive records of a block, with the prefixes of their keys.
type stretch struct {
	keys  []uint64
	recs  []byte
	block *block
}

// slice returns the records with indexes from (inclusive) to to (exclusive).
func (s stretch) slice(from, to, recordSize int) stretch {
	return stretch{
		keys:  s.keys[from:to],
		recs:  s.recs[from*recordSize : to*recordSize],
		block: s.block,
	}
}
