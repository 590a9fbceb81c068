package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
)

const (
	// LineBytes is the unit of the scatter: two cache lines. That the line of a bucket is full cannot be predicted, so
	// fewer and longer lines are better. LongLineBytes is for chunks with much memory for each bucket, where the
	// second-level cache has 1 MiB.
	LineBytes     = 128
	LongLineBytes = 256

	MaxBuckets = 2048 // of one scatter: its lines, 256 or 512 KiB, must leave the rest of L2 free
)

// Combiner is what one worker needs to append to buckets. Every bucket has a line of elements in
// cache that is written to its block when it is full, past the caches. That turns writes to thousands of places
// into whole lines, which memory takes nearly as fast as a stream.
//
// Two numbers a bucket say how far that is. An element of bucket b is stored at lines[next[b]], and next[b] is one
// more then. When that is a multiple of the length of a line, the line is full: it is copied to pool.Elems[to[b]:],
// to[b] goes on by a line, and next[b] is set back to the start of the line. When to[b] is a multiple of the size
// of a block, the block is full, and a new one is taken before the next copy. So all that the loop over the
// elements needs is in one word, of which buckets with a majority key use the upper part as well: there the key is
// counted (see Scatterer).
type Combiner[E arena.Word] struct {
	pool  *pool.Pool[E]
	line  int // elements in a line, a power of two
	lines []E // a line for each bucket

	numbers []uint32 // of the buckets of the elements in work

	next []uint64 // of each bucket where in lines its next element goes; counts of a Scatterer from bit countShift on
	to   []uint64 // of each bucket where in the pool its line goes; at the start of a block, that is yet to be taken

	Lists []pool.List // full blocks and the one in work, for each bucket
	taken []uint32    // how many blocks those are

	used     int       // buckets in use
	recycled pool.List // blocks to use before those of the pool
	zone     int       // that the blocks of the first bucket come from
	zones    int       // that the buckets are spread over
}

// CombinerBytes is the memory of a combiner for so many buckets, with lines of so many bytes.
func CombinerBytes(buckets, lineBytes int) int {
	return buckets*lineBytes + 3*WholeLines(8*buckets) + WholeLines(4*buckets)
}

// NewCombiner makes a combiner for so many buckets, with lines of so many bytes, in memory, of which it leaves the
// rest.
func NewCombiner[E arena.Word](p *pool.Pool[E], memory []byte, buckets, lineBytes int) (c Combiner[E], rest []byte) {
	var e E
	c = Combiner[E]{pool: p, line: lineBytes / int(unsafe.Sizeof(e)), recycled: pool.Empty}
	c.lines, rest = Carve[E](memory, buckets*c.line)
	c.numbers = make([]uint32, MaxNumbers)
	c.next, rest = Carve[uint64](rest, buckets)
	c.to, rest = Carve[uint64](rest, buckets)
	var lists []uint64
	lists, rest = Carve[uint64](rest, buckets)
	c.Lists = unsafe.Slice((*pool.List)(unsafe.Pointer(unsafe.SliceData(lists))), buckets)
	c.taken, rest = Carve[uint32](rest, buckets)
	return c, rest
}

// Reset empties the first so many buckets, whose blocks come from so many zones from zone on. Blocks to recycle,
// which work that was cancelled leaves, are forgotten.
func (c *Combiner[E]) Reset(buckets, zone, zones int) {
	c.used, c.zone, c.zones, c.recycled = buckets, zone, zones, pool.Empty
	clear(c.to[:buckets])
	clear(c.taken[:buckets])
	for i := range c.Lists[:buckets] {
		c.Lists[i] = pool.Empty
		c.next[i] = uint64(i * c.line)
	}
}

// Distribute appends elems to the buckets of their keys, by putFast or what does as that does.
func Distribute[K Element, E arena.Word](
	c *Combiner[E], b *Buckets[K], keys []K, elems []E,
	put func(c *Combiner[E], elems []E, numbers []uint32) (done, full int),
) {
	for len(keys) > 0 {
		n := min(len(keys), MaxNumbers)
		numbers := c.numbers[:n]
		b.number(numbers, keys[:n])
		for at := 0; at < n; {
			done, full := put(c, elems[at:n], numbers[at:])
			if full >= 0 {
				c.flush(full)
			}
			at += done
		}
		keys, elems = keys[n:], elems[n:]
	}
}

// putLoop appends elems to the buckets of the given numbers until one of them fills a line, which putFast flushes
// itself as long as there is room in the block: done elements are in their lines then, and full is that bucket,
// whose line counts as empty and has to be flushed; or -1 at the end of elems.
func putLoop[E arena.Word](c *Combiner[E], elems []E, numbers []uint32) (done, full int) {
	line := uint64(c.line)
	for i, number := range numbers[:len(elems)] {
		at := c.next[number]
		c.lines[at] = elems[i]
		if at++; at&(line-1) == 0 {
			c.next[number] = at - line
			return i + 1, int(number)
		}
		c.next[number] = at
	}
	return len(elems), -1
}

// flush writes the full line of a bucket, which counts as empty already, to its block or to a new one.
func (c *Combiner[E]) flush(bucket int) {
	to := c.makeRoom(bucket)
	copy(c.pool.Elems[to:to+uint64(c.line)], c.lines[bucket*c.line:])
	c.to[bucket] = to + uint64(c.line)
}

// makeRoom is where the line of a bucket goes: to, or a new block if the last one is full.
func (c *Combiner[E]) makeRoom(bucket int) uint64 {
	p := c.pool
	if to := c.to[bucket]; to&uint64(p.Block-1) != 0 {
		return to
	}
	l := &c.Lists[bucket]
	if l.Tail != pool.None {
		p.Used[l.Tail] = uint32(p.Block)
	}
	block := c.takeBlock(bucket)
	c.taken[bucket]++
	p.Push(l, block)
	return uint64(block) << p.Shift
}

// ZoneOf is the zone of a bucket.
func (c *Combiner[E]) ZoneOf(bucket int) int { return c.zone + bucket*c.zones/c.used }

func (c *Combiner[E]) takeBlock(bucket int) uint32 {
	block := c.recycled.Head
	if block == pool.None {
		return c.pool.Take(c.ZoneOf(bucket))
	}
	if c.recycled.Head = c.pool.Next[block]; c.recycled.Head == pool.None {
		c.recycled = pool.Empty
	}
	return block
}

// inLine is the number of elements in the line of a bucket.
func (c *Combiner[E]) inLine(bucket int) uint64 { return c.next[bucket] & uint64(c.line-1) }

// Counts sets ends to the number of elements in each bucket.
func (c *Combiner[E]) Counts(ends []uint32) {
	for i := range c.to[:c.used] {
		ends[i] = uint32(c.SizeOf(i))
	}
}

// SizeOf is the number of elements in a bucket.
func (c *Combiner[E]) SizeOf(bucket int) int64 {
	mask, to, blocks := uint64(c.pool.Block-1), c.to[bucket], uint64(c.taken[bucket])
	if to&mask != 0 {
		blocks-- // the last one is not full
	}
	return int64(blocks*(mask+1) + to&mask + c.inLine(bucket))
}

// DropFrom empties the buckets from one on, whose blocks become free, and returns how many elements they had.
func (c *Combiner[E]) DropFrom(from int) (elements int64) {
	for bucket := from; bucket < c.used; bucket++ {
		elements += c.SizeOf(bucket)
		c.pool.Free(c.ZoneOf(bucket), c.Lists[bucket], int64(c.taken[bucket]))
		c.Lists[bucket], c.to[bucket], c.taken[bucket] = pool.Empty, 0, 0
		c.next[bucket] = uint64(bucket * c.line)
	}
	return elements
}

// Settle ends what is under way in this processor, so that others can use the blocks of buckets that are dropped.
func (c *Combiner[E]) Settle() { StoreFence() }

// Finish writes the lines that are not full. After it, lists are the buckets.
func (c *Combiner[E]) Finish() {
	p := c.pool
	for bucket := range c.used {
		end := c.to[bucket]
		if rest := c.inLine(bucket); rest > 0 {
			to := c.makeRoom(bucket)
			copy(p.Elems[to:to+rest], c.lines[bucket*c.line:])
			end = to + rest
		}
		if l := c.Lists[bucket]; l.Tail != pool.None {
			p.Used[l.Tail] = uint32((end-1)&uint64(p.Block-1)) + 1
		}
	}
	StoreFence()
}

// Recycle takes a block whose elements have been read, to be used again.
func (c *Combiner[E]) Recycle(block uint32) {
	c.pool.Next[block] = c.recycled.Head
	c.recycled.Head = block
	if c.recycled.Tail == pool.None {
		c.recycled.Tail = block
	}
}

// GiveBack frees the blocks that were not used again.
func (c *Combiner[E]) GiveBack() {
	c.pool.FreeAll(c.zone, c.recycled)
	c.recycled = pool.Empty
}

// Carve cuts n elements, and what aligns the rest to a cache line, off memory.
func Carve[E arena.Word](memory []byte, n int) (cut []E, rest []byte) {
	cut = arena.View[E](memory)[:n:n]
	return cut, memory[WholeLines(len(arena.ByteView(cut))):]
}

func WholeLines(bytes int) int { return (bytes + LineBytes - 1) &^ (LineBytes - 1) }
