package chunker

import (
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/radix"
)

// buffers are where a worker of Scatter collects the records of each part.
type buffers interface {
	// add appends records to those of their parts until the buffer of one, full, has to be emptied: done records have
	// been taken then. full is -1 at the end of recs.
	add(recs []byte, parts []uint32) (done, full int)
	// finish ends a part: content is all that is left of it. Where it reports false, the buffer has to be emptied before.
	finish(part int) bool
	content(part int) []byte
	empty(part int)
}

// newBuffers makes buffers of so many bytes, whole records, for each part, in memory of plan.Scatter's BufferBytes.
func newBuffers(memory []byte, parts, block, size int) buffers {
	if radix.CanAppend(block) && parts <= plan.MaxLines {
		switch size { // see plan.MovesWords
		case 4:
			return newLineBuffers[uint32](memory, parts, block)
		case 8:
			return newLineBuffers[uint64](memory, parts, block)
		case 16:
			return newLineBuffers[[2]uint64](memory, parts, block)
		}
	}
	return &plainBuffers{memory: memory, block: block, size: size, filled: make([]int, parts)}
}

// lineBuffers are of records that are moved as words, a cache line of them at a time and past the caches.
type lineBuffers[E arena.Word] struct{ *radix.Appender[E] }

func newLineBuffers[E arena.Word](memory []byte, parts, block int) buffers {
	return lineBuffers[E]{radix.NewAppender[E](memory, parts, block)}
}

func (b lineBuffers[E]) add(recs []byte, parts []uint32) (done, full int) {
	return b.Append(arena.View[E](recs), parts)
}

func (b lineBuffers[E]) finish(part int) bool    { return b.Finish(part) }
func (b lineBuffers[E]) content(part int) []byte { return arena.ByteView(b.Buffered(part)) }
func (b lineBuffers[E]) empty(part int)          { b.Empty(part) }

// plainBuffers are of records of any size.
type plainBuffers struct {
	memory []byte
	block  int   // bytes of a buffer
	size   int   // of a record
	filled []int // bytes of each part
}

func (b *plainBuffers) add(recs []byte, parts []uint32) (done, full int) {
	memory, size := b.memory, b.size
	for i, part := range parts {
		p := int(part)
		at := b.filled[p]
		copy(memory[p*b.block+at:], recs[i*size:(i+1)*size])
		b.filled[p] = at + size
		if at+size == b.block {
			return i + 1, p
		}
	}
	return len(parts), -1
}

func (b *plainBuffers) finish(int) bool         { return true }
func (b *plainBuffers) content(part int) []byte { return b.memory[part*b.block:][:b.filled[part]] }
func (b *plainBuffers) empty(part int)          { b.filled[part] = 0 }
