package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

const (
	// LineBytes is the unit of the scatter: two cache lines. That the line of a bucket is full cannot be predicted, so
	// fewer and longer lines are better. LongLineBytes is for chunks with much memory for each bucket, where the
	// second-level cache has 1 MiB.
	LineBytes     = 128
	LongLineBytes = 256

	MaxBuckets = 2048 // of one scatter: its lines, 256 or 512 KiB, must leave the rest of L2 free
)

// combiner is what one worker needs to append to buckets. Every bucket has a line of elements in
// cache that is written to its block when it is full, past the caches. That turns writes to thousands of places
// into whole lines, which memory takes nearly as fast as a stream.
//
// Two numbers a bucket say how far that is. An element of bucket b is stored at lines[next[b]], and next[b] is one
// more then. When that is a multiple of the length of a line, the line is full: it is copied to elems[to[b]:],
// to[b] goes on by a line, and next[b] is set back to the start of the line. When to[b] is a multiple of the size
// of a block, the block is full, and a new one is taken before the next copy. So all that the loop over the
// elements needs is in one word, of which buckets with a majority key use the upper part as well: there the key is
// counted (see MajorityKeys).
//
// scatter_amd64.s knows where the fields are.
type combiner[E arena.Word] struct {
	lines     []E      // a line for each bucket
	next      []uint64 // of each bucket where in lines its next element goes; counts majority keys from bit countShift on
	to        []uint64 // of each bucket where in elems its line goes; at the start of a block, that is yet to be taken
	elems     []E      // of the pool
	blockMask uint64   // elements in a block, a power of two, less one
	lineMask  uint64   // elements in a line, a power of two, less one
}

// combinerBytes is the memory of a combiner for buckets, with lines of lineBytes.
func combinerBytes(buckets, lineBytes int) int { return buckets*lineBytes + 2*WholeLines(8*buckets) }

// newCombiner makes a combiner for buckets, with lines of lineBytes, in memory, of which it leaves the rest. Lines go
// to blocks of block elements in elems.
func newCombiner[E arena.Word](
	elems []E, block int, memory []byte, buckets, lineBytes int,
) (c combiner[E], rest []byte) {
	var e E
	line := lineBytes / int(unsafe.Sizeof(e))
	c = combiner[E]{elems: elems, blockMask: uint64(block - 1), lineMask: uint64(line - 1)}
	c.lines, rest = Carve[E](memory, buckets*line)
	c.next, rest = Carve[uint64](rest, buckets)
	c.to, rest = Carve[uint64](rest, buckets)
	return c, rest
}

// putLoop appends elems to the buckets of the given numbers until one of them fills a line, which put flushes
// itself as long as there is room in the block: done elements are in their lines then, and full is that bucket,
// whose line counts as empty and has to be flushed; or -1 at the end of elems.
//
// If majority is not nil, elements that are their bucket's one there are counted in place of being appended.
func putLoop[E arena.Word](c *combiner[E], elems []E, numbers []uint32, majority []E) (done, full int) {
	line := c.line()
	for i, number := range numbers[:len(elems)] {
		e, before := elems[i], c.next[number]
		c.lines[uint32(before)] = e
		after := before + 1
		if majority != nil && e == majority[number] {
			after = before + 1<<countShift
		}
		if (after^before)&line != 0 {
			c.next[number] = after - line
			return i + 1, int(number)
		}
		c.next[number] = after
	}
	return len(elems), -1
}

func (c *combiner[E]) line() uint64 { return c.lineMask + 1 }

// inLine is the number of elements in the line of a bucket.
func (c *combiner[E]) inLine(bucket int) uint64 { return c.next[bucket] & c.lineMask }

// writeLine writes the first n elements of the line of a bucket to a place in the pool.
func (c *combiner[E]) writeLine(bucket int, to, n uint64) {
	copy(c.elems[to:to+n], c.lines[uint64(bucket)*c.line():])
	c.to[bucket] = to + n
}

// Carve cuts n elements, and what aligns the rest to a cache line, off memory.
func Carve[E arena.Word](memory []byte, n int) (cut []E, rest []byte) {
	cut = arena.View[E](memory)[:n:n]
	return cut, memory[WholeLines(len(arena.ByteView(cut))):]
}

func WholeLines(bytes int) int { return (bytes + LineBytes - 1) &^ (LineBytes - 1) }
