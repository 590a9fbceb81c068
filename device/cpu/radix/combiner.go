package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

const (
	// LineBytes is the unit of the scatter: two cache lines. It is unpredictable when the line of
	// a bucket is full, so fewer and longer lines are better. LongLineBytes is for chunks with
	// much memory per bucket, on processors with 1 MiB of second-level cache.
	LineBytes     = 128
	LongLineBytes = 256

	// MaxBuckets is the maximum for one scatter. Its lines occupy 256 or 512 KiB and must leave
	// the rest of L2 free.
	MaxBuckets = 2048
)

// A combiner holds the state of one worker that appends to buckets. Every bucket has a line of
// elements in the cache. When the line is full, it is written to the bucket's block, bypassing
// the caches. So writes to thousands of places become writes of whole lines, which memory accepts
// nearly as fast as a sequential stream.
//
// Two numbers per bucket describe its state. An element of bucket b is stored at
// lines[lineEnds[b]], and lineEnds[b] is incremented. When lineEnds[b] becomes a multiple of the
// length of a line, the line is full: it is copied to elems[targets[b]:], targets[b] advances by a
// line, and lineEnds[b] returns to the start of the line. When targets[b] is a multiple of the
// size of a block, the block is full, and a new one is taken before the next copy. So the loop
// over the elements needs only a single word per bucket. For a bucket with a majority key, the
// upper part of this word counts that key (see MajorityKeys).
//
// scatter_amd64.s depends on the offsets of the fields.
type combiner[E arena.Word] struct {
	lines []E // a line per bucket
	// lineEnds holds, per bucket, the position in lines of its next element. The bits from
	// countShift on count its majority key.
	lineEnds []uint64
	// targets holds, per bucket, the position in elems for its line. At the start of a block, that
	// block has not been taken yet.
	targets   []uint64
	elems     []E    // of the pool
	blockMask uint64 // number of elements in a block, a power of two, minus one
	lineMask  uint64 // number of elements in a line, a power of two, minus one
}

// combinerBytes returns the memory of a combiner for buckets with lines of lineBytes.
func combinerBytes(buckets, lineBytes int) int {
	return buckets*lineBytes + 2*WholeLines(8*buckets)
}

// newCombiner returns a combiner for buckets with lines of lineBytes. It takes its memory from
// memory and returns the rest. Lines are written to blocks of block elements in elems.
func newCombiner[E arena.Word](
	elems []E,
	block int,
	memory []byte,
	buckets, lineBytes int,
) (c combiner[E], rest []byte) {
	var e E
	line := lineBytes / int(unsafe.Sizeof(e))
	c = combiner[E]{
		elems:     elems,
		blockMask: uint64(block - 1),
		lineMask:  uint64(line - 1),
	}
	c.lines, rest = Carve[E](memory, buckets*line)
	c.lineEnds, rest = Carve[uint64](rest, buckets)
	c.targets, rest = Carve[uint64](rest, buckets)
	return c, rest
}

// putLoop appends elems to the buckets with the given numbers until a line is full. It returns
// the number of elements appended and the bucket of the full line. The line already counts as
// empty, and the caller must flush it. If all elements are appended, full is -1. In contrast,
// putElements flushes lines itself as long as there is space in the block.
//
// If majority is not nil, elements equal to the majority key of their bucket are counted and not
// appended.
func putLoop[E arena.Word](
	c *combiner[E],
	elems []E,
	numbers []uint32,
	majority []E,
) (done, full int) {
	line := c.lineElems()
	for i, number := range numbers[:len(elems)] {
		e := elems[i]
		before := c.lineEnds[number]
		c.lines[uint32(before)] = e
		after := before + 1
		if majority != nil && e == majority[number] {
			after = before + 1<<countShift
		}
		if (after^before)&line != 0 {
			c.lineEnds[number] = after - line
			return i + 1, int(number)
		}

		c.lineEnds[number] = after
	}

	return len(elems), -1
}

// lineElems returns the number of elements in a full line.
func (c *combiner[E]) lineElems() uint64 {
	return c.lineMask + 1
}

// elemsInLine returns the number of elements in the line of a bucket.
func (c *combiner[E]) elemsInLine(bucket int) uint64 {
	return c.lineEnds[bucket] & c.lineMask
}

// writeLine writes the first n elements of the line of a bucket to a position in the pool.
func (c *combiner[E]) writeLine(bucket int, to, n uint64) {
	copy(c.elems[to:to+n], c.lines[uint64(bucket)*c.lineElems():])
	c.targets[bucket] = to + n
}

// Carve takes n elements from memory, plus the bytes that align the rest to a cache line.
func Carve[E arena.Word](
	memory []byte,
	n int,
) (cut []E, rest []byte) {
	cut = arena.View[E](memory)[:n:n]
	return cut, memory[WholeLines(len(arena.ByteView(cut))):]
}

// WholeLines rounds a number of bytes up to whole lines.
func WholeLines(bytes int) int {
	return (bytes + LineBytes - 1) &^ (LineBytes - 1)
}
