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
	line  int // elements in a line, a power of two
	lines []E // a line for each bucket

	numbers []uint32 // of the buckets of the elements in work

	// next is, for each bucket, where in lines its next element goes: in the bucket's line, which is never left full. What
	// scatterer counts is above bit countShift.
	next []uint64

	// to is, for each bucket, where in the pool its line goes. At the start of a block, the block has yet to be taken.
	to []uint64

	lists []list   // full blocks and the one in work, for each bucket
	taken []uint32 // how many blocks those are

	used     int  // buckets in use
	recycled list // blocks to use before those of the pool
	zone     int  // that the blocks of the first bucket come from
	zones    int  // that the buckets are spread over
}

// combinerBytes is the memory of a combiner for so many buckets, with lines of so many bytes.
func combinerBytes(buckets, lineBytes int) int {
	return buckets*lineBytes + 3*wholeLines(8*buckets) + wholeLines(4*buckets)
}

// newCombiner makes a combiner for so many buckets, with lines of so many bytes, in memory, of which it leaves the rest.
func newCombiner[E arena.Word](p *pool[E], memory []byte, buckets, lineBytes int) (c combiner[E], rest []byte) {
	var e E
	c = combiner[E]{pool: p, line: lineBytes / int(unsafe.Sizeof(e)), recycled: emptyList}
	c.lines, rest = carve[E](memory, buckets*c.line)
	c.numbers = make([]uint32, numbersAtMost)
	c.next, rest = carve[uint64](rest, buckets)
	c.to, rest = carve[uint64](rest, buckets)
	var lists []uint64
	lists, rest = carve[uint64](rest, buckets)
	c.lists = unsafe.Slice((*list)(unsafe.Pointer(unsafe.SliceData(lists))), buckets)
	c.taken, rest = carve[uint32](rest, buckets)
	return c, rest
}

// reset empties the first so many buckets, whose blocks come from so many zones from zone on. Blocks to recycle, which work that was
// cancelled leaves, are forgotten.
func (c *combiner[E]) reset(buckets, zone, zones int) {
	c.used, c.zone, c.zones, c.recycled = buckets, zone, zones, emptyList
	clear(c.to[:buckets])
	clear(c.taken[:buckets])
	for i := range c.lists[:buckets] {
		c.lists[i] = emptyList
		c.next[i] = uint64(i * c.line)
	}
}

// distribute appends elems to the buckets of their keys, by putFast or what does as that does.
func distribute[K element, E arena.Word](c *combiner[E], b *buckets[K], keys []K, elems []E, put func(c *combiner[E], elems []E, numbers []uint32) (done, full int)) {
	for len(keys) > 0 {
		n := min(len(keys), numbersAtMost)
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

// putLoop appends elems to the buckets of the given numbers until one of them fills a line, which putFast flushes itself as long as
// there is room in the block: done elements are in their lines then, and full is that bucket, whose line counts as empty and has to
// be flushed; or -1 at the end of elems.
func putLoop[E arena.Word](c *combiner[E], elems []E, numbers []uint32) (done, full int) {
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
func (c *combiner[E]) flush(bucket int) {
	to := c.makeRoom(bucket)
	copy(c.pool.elems[to:to+uint64(c.line)], c.lines[bucket*c.line:])
	c.to[bucket] = to + uint64(c.line)
}

// makeRoom is where the line of a bucket goes: to, or a new block if the last one is full.
func (c *combiner[E]) makeRoom(bucket int) uint64 {
	p := c.pool
	if to := c.to[bucket]; to&uint64(p.block-1) != 0 {
		return to
	}
	l := &c.lists[bucket]
	if l.tail != none {
		p.used[l.tail] = uint32(p.block)
	}
	block := c.takeBlock(bucket)
	c.taken[bucket]++
	p.push(l, block)
	return uint64(block) << p.shift
}

// zoneOf is the zone of a bucket.
func (c *combiner[E]) zoneOf(bucket int) int { return c.zone + bucket*c.zones/c.used }

func (c *combiner[E]) takeBlock(bucket int) uint32 {
	block := c.recycled.head
	if block == none {
		return c.pool.take(c.zoneOf(bucket))
	}
	if c.recycled.head = c.pool.next[block]; c.recycled.head == none {
		c.recycled = emptyList
	}
	return block
}

// inLine is the number of elements in the line of a bucket.
func (c *combiner[E]) inLine(bucket int) uint64 { return c.next[bucket] & uint64(c.line-1) }

// counts sets ends to the number of elements in each bucket.
func (c *combiner[E]) counts(ends []uint32) {
	for i := range c.to[:c.used] {
		ends[i] = uint32(c.sizeOf(i))
	}
}

// sizeOf is the number of elements in a bucket.
func (c *combiner[E]) sizeOf(bucket int) int64 {
	mask, to, blocks := uint64(c.pool.block-1), c.to[bucket], uint64(c.taken[bucket])
	if to&mask != 0 {
		blocks-- // the last one is not full
	}
	return int64(blocks*(mask+1) + to&mask + c.inLine(bucket))
}

// dropFrom empties the buckets from one on, whose blocks become spare, and returns how many elements they had.
func (c *combiner[E]) dropFrom(from int) (elements int64) {
	for bucket := from; bucket < c.used; bucket++ {
		elements += c.sizeOf(bucket)
		c.pool.spare(c.lists[bucket], int64(c.taken[bucket]))
		c.lists[bucket], c.to[bucket], c.taken[bucket] = emptyList, 0, 0
		c.next[bucket] = uint64(bucket * c.line)
	}
	return elements
}

// finish writes the lines that are not full. After it, lists are the buckets.
func (c *combiner[E]) finish() {
	p := c.pool
	for bucket := range c.used {
		end := c.to[bucket]
		if rest := c.inLine(bucket); rest > 0 {
			to := c.makeRoom(bucket)
			copy(p.elems[to:to+rest], c.lines[bucket*c.line:])
			end = to + rest
		}
		if l := c.lists[bucket]; l.tail != none {
			p.used[l.tail] = uint32((end-1)&uint64(p.block-1)) + 1
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
