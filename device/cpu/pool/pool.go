// Package pool hands out memory in blocks that are linked to lists: the buckets of a chunk grow without being
// counted first.
//
// Only the root package of this module is stable: this package may change in any version.
//
// There are three places that a block can come from: the zone of its keys, which owns whole extents of the memory;
// memory that no zone has had yet, by the extent; and where that is used up, any other zone.
package pool

import (
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

// None is the block that ends a list.
const None = ^uint32(0)

// List is the content of a bucket: a chain of blocks. The zero list is not valid, see Empty.
type List struct{ Head, Tail uint32 }

var Empty = List{None, None}

// Pool is the memory of a chunk's elements, cut into blocks of equal size. A block belongs to one list or is free.
type Pool[E arena.Word] struct {
	Memory *arena.Memory
	Elems  []E
	Block  int  // elements in a block, a power of two
	Shift  uint // log2 of block
	Blocks int

	Next []uint32 // the block after this one in its list
	Used []uint32 // elements in this block, from its start

	Fresh  atomic.Int64 // blocks from here on have not been used since Reset
	Extent int          // blocks that a zone gets at a time
	Zones  []Zone
}

// New makes a pool of blocks, each of block elements, a power of two.
func New[E arena.Word](blocks, block, zones int) (*Pool[E], error) {
	var e E
	size := int(unsafe.Sizeof(e))
	memory, err := arena.Alloc(blocks * block * size)
	if err != nil {
		return nil, err
	}
	p := &Pool[E]{
		Memory: memory, Elems: arena.View[E](memory.Bytes()),
		Block: block, Shift: uint(bits.TrailingZeros(uint(block))), Blocks: blocks,
		Next: make([]uint32, blocks), Used: make([]uint32, blocks),
		Extent: max(1, ExtentBytes/(block*size)), Zones: make([]Zone, zones),
	}
	p.Reset()
	return p, nil
}

// Reset frees all blocks. They are handed out again in the same order, so that memory that was touched before is
// used before any that was not.
func (p *Pool[E]) Reset() {
	p.Fresh.Store(0)
	for i := range p.Zones {
		z := &p.Zones[i]
		z.fresh, z.end, z.freed, z.freeCount, z.Extents = 0, 0, None, 0, z.Extents[:0]
		z.Lent.Store(false)
	}
}

var ErrFull = errors.New("the chunk is full: more records arrived than it has room for")

// Take gives blocks that belong to nobody, as a chain: at most so many of the zone if it has any or can get more, else
// one of another. It panics with ErrFull if there are none: the sizes of the chunk are wrong then, and the inner loop
// that asks has no other way out. device.Each makes it the error of the worker.
func (p *Pool[E]) Take(zone, most int) uint32 {
	if first := p.takeOf(&p.Zones[zone], most); first != None {
		return first
	}
	for i := range p.Zones {
		if b := p.takeOf(&p.Zones[i], 1); b != None {
			p.Zones[i].Lent.Store(true)
			return b
		}
	}
	panic(ErrFull)
}

// takeOf gives a chain of the zone or none. Blocks that were never used are linked when others can have the lock again.
func (p *Pool[E]) takeOf(z *Zone, most int) uint32 {
	first, n := p.claim(z, most)
	for i := range n {
		p.Next[first+i] = first + i + 1
	}
	if n > 0 {
		p.Next[first+n-1] = None
	}
	return first
}

// claim gives a chain of freed blocks or else the first of n that were never used, of a new extent if it has to be.
func (p *Pool[E]) claim(z *Zone, most int) (first, n uint32) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.freed != None {
		return z.takeFreed(p.Next, most), 0
	}
	if z.fresh == z.end {
		from := p.Fresh.Add(int64(p.Extent)) - int64(p.Extent)
		if from >= int64(p.Blocks) {
			return None, 0
		}
		z.Extents = append(z.Extents, uint32(from))
		z.fresh, z.end = uint32(from), uint32(min(from+int64(p.Extent), int64(p.Blocks)))
	}
	first, n = z.fresh, min(uint32(most), z.end-z.fresh)
	z.fresh += n
	return first, n
}

// Free gives a block and those after it to a zone.
func (p *Pool[E]) Free(zone int, block uint32) {
	z := &p.Zones[zone]
	z.mu.Lock()
	defer z.mu.Unlock()
	for block != None {
		next := p.Next[block]
		p.Next[block], z.freed = z.freed, block
		z.freeCount++
		block = next
	}
}

// Release gives the memory of a zone back to the system. REQUIRES: none of its blocks is in use, and it is the last
// time before Reset.
func (p *Pool[E]) Release(zone int) {
	z := &p.Zones[zone]
	if z.Lent.Load() {
		return
	}
	bytes := p.Memory.Bytes()
	blockBytes := len(bytes) / p.Blocks
	for _, first := range z.Extents {
		p.Memory.Discard(int(first)*blockBytes, min(int(first)+p.Extent, p.Blocks)*blockBytes)
	}
	z.Extents = z.Extents[:0]
}

// Available is the number of blocks that Take can give. REQUIRES: no worker takes or frees blocks meanwhile.
func (p *Pool[E]) Available() int64 {
	n := max(0, int64(p.Blocks)-p.Fresh.Load())
	for i := range p.Zones {
		n += int64(p.Zones[i].end-p.Zones[i].fresh) + p.Zones[i].freeCount
	}
	return n
}

// Touched is the number of blocks that have been handed out since Reset, at the start of the memory.
func (p *Pool[E]) Touched() int64 { return min(p.Fresh.Load(), int64(p.Blocks)) }

// DiscardUntouched gives back what was handed out before Reset, and not since.
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

// Content is the elements of a block.
func (p *Pool[E]) Content(block uint32) []E {
	at := int(block) << p.Shift
	return p.Elems[at : at+int(p.Used[block])]
}

// Pack moves elements within l so that at most one of its blocks is not full, and frees what becomes empty. To keep
// the elements in order takes to move all of them.
func (p *Pool[E]) Pack(zone int, l List, inOrder bool) List {
	packed, emptied, last := Empty, None, None
	for b, next := l.Head, None; b != None; b = next {
		next = p.Next[b]
		if last != None {
			p.fill(last, b, inOrder)
		}
		switch {
		case p.Used[b] == 0:
			p.Next[b], emptied = emptied, b
			continue
		case last == None || int(p.Used[last]) == p.Block:
			last = b
		}
		p.Push(&packed, b)
	}
	p.Free(zone, emptied)
	return packed
}

// fill moves elements from the end of block from, or from its start if they are to stay in order, to the end of
// block to until to is full or from is empty.
func (p *Pool[E]) fill(to, from uint32, inOrder bool) {
	n := min(p.Block-int(p.Used[to]), int(p.Used[from]))
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

// Count is the number of elements of l.
func (p *Pool[E]) Count(l List) int64 {
	var n int64
	for b := l.Head; b != None; b = p.Next[b] {
		n += int64(p.Used[b])
	}
	return n
}

// ExtentBytes is what a zone gets at a time: a huge page, so that giving it back frees a whole one.
const ExtentBytes = arena.HugePage

// Zone is the part of a pool that the buckets of one range of keys take their blocks from. Zones follow each other in
// the order of their keys. So when the elements of a zone have been stored, its pages can go back to the system, whose
// page cache then needs none that were never touched before for what is written. It owns whole extents; a block that
// it had to lend to another zone, when memory was short, keeps them all.
type Zone struct {
	mu         sync.Mutex // protects the following
	fresh, end uint32     // the blocks of its last extent that were never used
	freed      uint32     // the first block of those that were freed
	freeCount  int64      // how many those are
	Extents    []uint32   // their first blocks
	Lent       atomic.Bool
}

// takeFreed gives a chain of at most so many blocks that were freed. REQUIRES: z.mu is held, and there is one.
func (z *Zone) takeFreed(next []uint32, most int) uint32 {
	first, last, n := z.freed, z.freed, 1
	for ; n < most && next[last] != None; n++ {
		last = next[last]
	}
	z.freeCount -= int64(n)
	z.freed, next[last] = next[last], None
	return first
}
