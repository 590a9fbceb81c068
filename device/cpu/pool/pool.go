// Package pool provides memory in blocks that are linked to lists. With it, the buckets of a
// chunk grow without counting their elements first.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A block comes from one of three places: from the zone of its keys, which owns whole extents of
// the memory; from memory that no zone owns yet, which a zone takes in extents; and, when that is
// used up, from any other zone.
package pool

import (
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

// None marks the end of a list of blocks.
const None = ^uint32(0)

// A List is the content of a bucket: a chain of blocks. The zero List is invalid; see Empty.
type List struct{ Head, Tail uint32 }

var Empty = List{None, None}

// A Pool is the memory of a chunk's elements, divided into blocks of equal size. Each block
// belongs to one list or is free.
type Pool[E arena.Word] struct {
	Memory     *arena.Memory
	Elems      []E
	BlockElems int  // number of elements in a block, a power of two
	BlockShift uint // log2 of Block
	Blocks     int

	Next []uint32 // the next block in the list, by block
	Used []uint32 // number of elements at the start of the block, by block

	Fresh        atomic.Int64 // first block that has not been used since Reset
	ExtentBlocks int          // number of blocks that a zone takes at a time
	Zones        []Zone
}

// New returns a pool of blocks with block elements each, a power of two.
func New[E arena.Word](blocks, block, zones int) (*Pool[E], error) {
	var e E
	size := int(unsafe.Sizeof(e))
	memory, err := arena.Alloc(blocks * block * size)
	if err != nil {
		return nil, err
	}
	p := &Pool[E]{
		Memory:       memory,
		Elems:        arena.View[E](memory.Bytes()),
		BlockElems:   block,
		BlockShift:   uint(bits.TrailingZeros(uint(block))),
		Blocks:       blocks,
		Next:         make([]uint32, blocks),
		Used:         make([]uint32, blocks),
		ExtentBlocks: max(1, ExtentBytes/(block*size)),
		Zones:        make([]Zone, zones),
	}
	p.Reset()
	return p, nil
}

// Reset frees all blocks. They are handed out again in the same order, so that memory that was
// touched before is used first.
func (p *Pool[E]) Reset() {
	p.Fresh.Store(0)
	for i := range p.Zones {
		z := &p.Zones[i]
		z.fresh = 0
		z.end = 0
		z.freed = None
		z.freeCount = 0
		z.Extents = z.Extents[:0]
		z.Lent.Store(false)
	}
}

var ErrFull = errors.New(
	"the chunk is full: more records arrived than it has room for",
)

// Take returns a chain of free blocks. It takes up to most blocks from the zone. If the zone has no
// free block and cannot get more, Take returns one block of another zone. If no zone has a free
// block, it panics with ErrFull. That can only happen if the sizes of the chunk are wrong, and the
// calling inner loop has no other way to fail. device.Each converts the panic to an error of the
// worker.
func (p *Pool[E]) Take(zone, most int) uint32 {
	first := p.takeFrom(&p.Zones[zone], most)
	if first != None {
		return first
	}
	for i := range p.Zones {
		b := p.takeFrom(&p.Zones[i], 1)
		if b != None {
			p.Zones[i].Lent.Store(true)
			return b
		}
	}

	panic(ErrFull)
}

// takeFrom returns a chain of blocks of the zone, or None. It links new blocks after releasing the
// lock.
func (p *Pool[E]) takeFrom(z *Zone, most int) uint32 {
	first, n := p.claimBlocks(z, most)
	for i := range n {
		p.Next[first+i] = first + i + 1
	}
	if n > 0 {
		p.Next[first+n-1] = None
	}
	return first
}

// claimBlocks returns a chain of freed blocks, or the first of n new blocks. If necessary it takes
// a new extent.
func (p *Pool[E]) claimBlocks(z *Zone, most int) (first, n uint32) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.freed != None {
		return z.takeFreed(p.Next, most), 0
	}
	if z.fresh == z.end {
		from := p.Fresh.Add(int64(p.ExtentBlocks)) - int64(p.ExtentBlocks)
		if from >= int64(p.Blocks) {
			return None, 0
		}
		z.Extents = append(z.Extents, uint32(from))
		z.fresh = uint32(from)
		z.end = uint32(min(from+int64(p.ExtentBlocks), int64(p.Blocks)))
	}
	first = z.fresh
	n = min(uint32(most), z.end-z.fresh)
	z.fresh += n
	return first, n
}

// Free returns a chain of blocks to a zone.
func (p *Pool[E]) Free(zone int, block uint32) {
	z := &p.Zones[zone]
	z.mu.Lock()
	defer z.mu.Unlock()

	for block != None {
		next := p.Next[block]
		p.Next[block] = z.freed
		z.freed = block
		z.freeCount++
		block = next
	}
}

// ReleaseZone returns the memory of a zone to the system. REQUIRES: none of its blocks is in use,
// and none is taken before the next Reset
func (p *Pool[E]) ReleaseZone(zone int) {
	z := &p.Zones[zone]
	if z.Lent.Load() {
		return
	}
	bytes := p.Memory.Bytes()
	blockBytes := len(bytes) / p.Blocks
	for _, first := range z.Extents {
		p.Memory.Discard(
			int(first)*blockBytes,
			min(int(first)+p.ExtentBlocks, p.Blocks)*blockBytes,
		)
	}
	z.Extents = z.Extents[:0]
}

// Available returns the number of blocks that Take can return. REQUIRES: no worker takes or frees
// blocks in the meantime
func (p *Pool[E]) Available() int64 {
	n := max(0, int64(p.Blocks)-p.Fresh.Load())
	for i := range p.Zones {
		n += int64(p.Zones[i].end-p.Zones[i].fresh) + p.Zones[i].freeCount
	}
	return n
}

// Touched returns the number of blocks at the start of the memory that have been handed out since
// Reset.
func (p *Pool[E]) Touched() int64 {
	return min(p.Fresh.Load(), int64(p.Blocks))
}

// DiscardUntouched returns the memory to the system that was used before Reset, but not since.
func (p *Pool[E]) DiscardUntouched() {
	bytes := p.Memory.Bytes()
	p.Memory.Discard(int(p.Touched())*(len(bytes)/p.Blocks), len(bytes))
}

// Push appends a block to l.
func (p *Pool[E]) Push(l *List, block uint32) {
	p.Next[block] = None
	p.Join(l, List{block, block})
}

// Join appends the blocks of m to l.
func (p *Pool[E]) Join(l *List, m List) {
	switch {
	case m.Head == None:
	case l.Head == None:
		*l = m
	default:
		p.Next[l.Tail] = m.Head
		l.Tail = m.Tail
	}
}

// Content returns the elements of a block.
func (p *Pool[E]) Content(block uint32) []E {
	at := int(block) << p.BlockShift
	return p.Elems[at : at+int(p.Used[block])]
}

// Pack moves elements within l so that at most one of its blocks is partial, and frees the empty
// blocks. Preserving the order of the elements requires moving all of them.
func (p *Pool[E]) Pack(zone int, l List, inOrder bool) List {
	packed := Empty
	emptied := None
	last := None

	for b, next := l.Head, None; b != None; b = next {
		next = p.Next[b]
		if last != None {
			p.moveElements(last, b, inOrder)
		}
		switch {
		case p.Used[b] == 0:
			p.Next[b] = emptied
			emptied = b
			continue
		case last == None || int(p.Used[last]) == p.BlockElems:
			last = b
		}

		p.Push(&packed, b)
	}

	p.Free(zone, emptied)
	return packed
}

// moveElements moves elements from block from to the end of block to, until to is full or from is
// empty. It takes them from the end of from, or, to preserve their order, from its start.
func (p *Pool[E]) moveElements(to, from uint32, inOrder bool) {
	n := min(p.BlockElems-int(p.Used[to]), int(p.Used[from]))
	source := p.Content(from)
	p.Used[to] += uint32(n)
	copied := p.Content(to)
	copied = copied[len(copied)-n:]

	if inOrder {
		copy(copied, source)
		copy(source, source[n:])
	} else {
		copy(copied, source[len(source)-n:])
	}

	p.Used[from] -= uint32(n)
}

// CountElements returns the number of elements of l.
func (p *Pool[E]) CountElements(l List) int64 {
	var n int64
	for b := l.Head; b != None; b = p.Next[b] {
		n += int64(p.Used[b])
	}
	return n
}

// ExtentBytes is the size of an extent: a huge page, so that releasing an extent frees a whole
// page.
const ExtentBytes = arena.HugePage

// A Zone is the part of a pool for the buckets of one range of keys. Zones are in the order of
// their keys. When all elements of a zone have been stored, its pages can go back to the system.
// The page cache then uses them for the output instead of pages that were never touched before. A
// zone owns whole extents. If it had to lend a block to another zone because memory was short, it
// keeps all of them.
type Zone struct {
	mu         sync.Mutex // protects the fields below
	fresh, end uint32     // range of new blocks in its last extent
	freed      uint32     // head of the chain of freed blocks
	freeCount  int64      // number of freed blocks
	Extents    []uint32   // first block of each extent
	Lent       atomic.Bool
}

// takeFreed returns a chain of at most the given number of freed blocks. REQUIRES: z.mu is held,
// and there is a freed block
func (z *Zone) takeFreed(next []uint32, most int) uint32 {
	first := z.freed
	last := z.freed
	n := 1

	for ; n < most && next[last] != None; n++ {
		last = next[last]
	}
	z.freeCount -= int64(n)
	z.freed = next[last]
	next[last] = None
	return first
}
