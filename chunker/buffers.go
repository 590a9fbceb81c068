package chunker

import (
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/cpu/radix"
)

// buffers are where a worker of Scatter collects the records of each part: a radix.Appender, for records that are moved
// as words, or plainBuffers.
type buffers interface {
	// Append appends records to those of their parts until the buffer of one, full, has to be emptied: done records have
	// been taken then. full is -1 at the end of recs.
	Append(recs []byte, parts []uint32) (done, full int)
	// Finish ends a part: Buffered is all that is left of it. Where it reports false, the buffer has to be emptied before.
	Finish(part int) bool
	Buffered(part int) []byte
	Empty(part int)
}

// newBuffers makes a buffer of block bytes, whole records, for each part, in memory of plan.Scatter's BufferBytes.
func newBuffers(memory []byte, parts, block, size int) buffers {
	if radix.CanAppend(block) && parts <= plan.MaxLines {
		switch size { // see plan.MovesWords
		case 4:
			return radix.NewAppender[uint32](memory, parts, block)
		case 8:
			return radix.NewAppender[uint64](memory, parts, block)
		case 16:
			return radix.NewAppender[[2]uint64](memory, parts, block)
		}
	}
	return &plainBuffers{memory: memory, block: block, size: size, filled: make([]int, parts)}
}

// plainBuffers are of records of any size.
type plainBuffers struct {
	memory []byte
	block  int   // bytes of a buffer
	size   int   // of a record
	filled []int // bytes of each part
}

func (b *plainBuffers) Append(recs []byte, parts []uint32) (done, full int) {
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

func (b *plainBuffers) Finish(int) bool          { return true }
func (b *plainBuffers) Buffered(part int) []byte { return b.memory[part*b.block:][:b.filled[part]] }
func (b *plainBuffers) Empty(part int)           { b.filled[part] = 0 }
