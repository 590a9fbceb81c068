package cpu

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

// combiner is what one worker needs to append to buckets. Every bucket has a line of elements in
// cache that is written to its block when it is full, past the caches. That turns writes to thousands of places
// into whole lines, which memory takes nearly as fast as a stream (a third slower without the line buffers).
type combiner[E arena.Word] struct {
	pool  *pool[E]
	line  int // elements in a line
	lines []E // a line for each bucket

	// at is, for each bucket, where the next element goes in the pool once the line has been written. Its low
	// bits say how full the line is. At the start of a block, the block has yet to be taken.
	at    []uint64
	lists []list   // full blocks and the one in work, for each bucket
	taken []uint32 // how many blocks those are

	used     int  // buckets in use
	recycled list // blocks to use before those of the pool
	zone     int  // that the blocks of the first bucket come from
	zones    int  // that the buckets are spread over
}

// newCombiner makes a combiner for so many buckets in memory, of which it leaves the rest.
func newCombiner[E arena.Word](p *pool[E], memory []byte, buckets int) (c combiner[E], rest []byte) {
	var e E
	c = combiner[E]{pool: p, line: lineBytes / int(unsafe.Sizeof(e)), recycled: emptyList}
	c.lines, rest = carve[E](memory, buckets*c.line)
	c.at, rest = carve[uint64](rest, buckets)
	var lists []uint64
	lists, rest = carve[uint64](rest, buckets)
	c.lists = unsafe.Slice((*list)(unsafe.Pointer(unsafe.SliceData(lists))), buckets)
	c.taken, rest = carve[uint32](rest, buckets)
	return c, rest
}

// reset empties the first so many buckets, whose blocks come from so many zones from zone on.
func (c *combiner[E]) reset(buckets, zone, zones int) {
	c.used, c.zone, c.zones = buckets, zone, zones
	clear(c.at[:buckets])
	clear(c.taken[:buckets])
	for i := range c.lists[:buckets] {
		c.lists[i] = emptyList
	}
}

// flushLine writes the full line of a bucket to its block, or to a new one.
func (c *combiner[E]) flushLine(digit uint64) {
	line := uint64(c.line)
	to := c.makeRoom(digit, c.at[digit]-line)
	copy(c.pool.elems[to:to+line], c.lines[digit*line:])
	c.at[digit] = to + line
}

// makeRoom is where a line goes that was meant to go to: there, or to a new block if the last one is full.
func (c *combiner[E]) makeRoom(digit, to uint64) uint64 {
	p := c.pool
	if to&uint64(p.block-1) != 0 {
		return to
	}
	l := &c.lists[digit]
	if l.tail != none {
		p.used[l.tail] = uint32(p.block)
	}
	block := c.takeBlock(digit)
	c.taken[digit]++
	p.push(l, block)
	return uint64(block) << p.shift
}

// zoneOf is the zone of a bucket.
func (c *combiner[E]) zoneOf(bucket int) int { return c.zone + bucket*c.zones/c.used }

func (c *combiner[E]) takeBlock(digit uint64) uint32 {
	block := c.recycled.head
	if block == none {
		return c.pool.take(c.zoneOf(int(digit)))
	}
	if c.recycled.head = c.pool.next[block]; c.recycled.head == none {
		c.recycled = emptyList
	}
	return block
}

// counts sets ends to the number of elements in each bucket.
func (c *combiner[E]) counts(ends []uint32) {
	mask, line := uint32(c.pool.block-1), uint32(c.line)
	for i, at := range c.at[:c.used] {
		inBlock, blocks := uint32(at)&mask, c.taken[i]
		if inBlock >= line {
			blocks-- // the last one is not full; of less than a line, no block has been taken
		}
		ends[i] = blocks*(mask+1) + inBlock
	}
}

// finish writes the lines that are not full. After it, lists are the buckets.
func (c *combiner[E]) finish() {
	line, p := uint64(c.line), c.pool
	for digit, at := range c.at[:c.used] {
		to := at &^ (line - 1)
		if rest := at - to; rest > 0 {
			to = c.makeRoom(uint64(digit), to)
			copy(p.elems[to:to+rest], c.lines[uint64(digit)*line:])
			at = to + rest
		}
		if l := c.lists[digit]; l.tail != none {
			p.used[l.tail] = uint32((at-1)&uint64(p.block-1)) + 1
		}
	}
	storeFence()
}

// recycle takes a block whose elements have been read, to be used again.
func (c *combiner[E]) recycle(block uint32) {
	c.pool.next[block] = c.recycled.head
	c.recycled.head = block
	if c.recycled.tail == none {
		c.recycled.tail = block
	}
}

// giveBack frees the blocks that were not used again.
func (c *combiner[E]) giveBack() {
	var count int64
	for b := c.recycled.head; b != none; b = c.pool.next[b] {
		count++
	}
	c.pool.free(c.zone, c.recycled, count)
	c.recycled = emptyList
}
