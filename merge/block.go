package merge

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// buffer is the memory of one input block: its records and, unless the records are their own normalized keys,
// the prefix of each key.
type buffer struct {
	recs []byte
	keys []uint64
}

// isNative reports whether records are words that are their own keys, so that there is nothing to extract.
func isNative(k *format.Keyer) bool { return k.Identity() && k.KeySize() == 8 }

// newBuffers makes buffers for n records each in one arena. Pages of it that no buffer uses are never touched.
func newBuffers(k *format.Keyer, buffers, n int) ([]*buffer, *arena.Memory, error) {
	each := int(plan.MergeBuffer(k, n))
	memory, err := arena.Alloc(buffers * each)
	if err != nil {
		return nil, nil, fmt.Errorf("merge: %w", err)
	}
	list := make([]*buffer, buffers)
	for i := range list {
		list[i] = newBuffer(k, memory.Bytes()[i*each:(i+1)*each], n)
	}
	return list, memory, nil
}

// newBuffer makes a buffer for n records in memory, which is aligned to words.
func newBuffer(k *format.Keyer, memory []byte, n int) *buffer {
	b := &buffer{keys: arena.View[uint64](memory)[:n], recs: memory}
	if !isNative(k) {
		b.recs = memory[8*n:]
	}
	b.recs = b.recs[:n*k.Layout().RecordSize]
	return b
}

// takeBuffer waits for a free buffer; nil: none is needed any more.
func takeBuffer(ctx context.Context, free <-chan *buffer, enough <-chan struct{}) (*buffer, error) {
	select {
	case buf := <-free:
		return buf, nil
	case <-enough:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// block is consecutive records of one input in memory.
type block struct {
	input int
	first int64 // index in the input of its first record
	keys  []uint64
	recs  []byte

	buf     *buffer
	free    chan<- *buffer // where buf goes when nobody holds the block any more
	holders atomic.Int32   // spans that still need it, and the queue as long as it does
}

func newBlock(input int, first int64, buf *buffer, free chan<- *buffer) *block {
	b := &block{input: input, first: first, buf: buf, free: free}
	b.holders.Store(1)
	return b
}

// release gives back one hold; the last one frees the memory. The channel has room for all buffers.
func (b *block) release() {
	if b.holders.Add(-1) == 0 {
		b.free <- b.buf
	}
}

// fill makes recs, which were read into b.buf, the block's records. A reader that has the records in memory
// already may return them from elsewhere; they are copied only where words would not be aligned.
func (b *block) fill(k *format.Keyer, recs []byte) {
	n := len(recs) / k.Layout().RecordSize
	b.recs = recs
	switch {
	case !isNative(k):
		b.keys = b.buf.keys[:n]
		k.Prefixes(b.keys, recs)
	case uintptr(unsafe.Pointer(unsafe.SliceData(recs)))%8 == 0:
		b.keys = arena.View[uint64](recs)
	default:
		b.keys = grown(b.buf.keys, n)[:n]
		b.recs = arena.ByteView(b.keys)
		copy(b.recs, recs)
	}
}

// stretch is all of the block.
func (b *block) stretch() stretch { return stretch{b.keys, b.recs, b} }

// disorder is the error that a record belongs before the one it follows, nil if none does.
func (b *block) disorder(k *format.Keyer) error {
	if i := disorder(k, b.keys, b.recs); i >= 0 {
		return &DisorderError{Input: b.input, Record: b.first + int64(i)}
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
