package cpu

import (
	"errors"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/device/arena"
)

// none is the block that ends a list.
const none = ^uint32(0)

// list is the content of a bucket: a chain of blocks. The zero list is not valid, see emptyList.
type list struct{ head, tail uint32 }

var emptyList = list{none, none}

// pool is the memory of a chunk's elements, cut into blocks of equal size. A block belongs to one list or is free.
//
// Blocks are handed out by zones (zone.go), each for a range of the keys, so that what was sorted first can be given back
// to the system first.
type pool[E arena.Word] struct {
	memory *arena.Memory
	elems  []E
	block  int  // elements in a block, a power of two
	shift  uint // log2 of block
	blocks int
	shared bool // a writer may still refer to the memory

	next []uint32 // the block after this one in its list
	used []uint32 // elements in this block, from its start

	fresh  atomic.Int64 // blocks from here on have not been used since reset
	extent int          // blocks that a zone gets at a time
	zones  []zone
	spares spares
}

// spares are blocks that may be used in any zone, before any that were never used.
type spares struct {
	mu    sync.Mutex
	list  list
	count int64
}

func newPool[E arena.Word](s *sizes) (*pool[E], error) {
	memory, err := arena.Alloc(s.blocks * s.block * s.element)
	if err != nil {
		return nil, err
	}
	p := &pool[E]{
		memory: memory, elems: arena.View[E](memory.Bytes()),
		block: s.block, shift: uint(bits.TrailingZeros(uint(s.block))), blocks: s.blocks,
		next: make([]uint32, s.blocks), used: make([]uint32, s.blocks),
		extent: max(1, extentBytes/(s.block*s.element)), zones: make([]zone, s.zones()),
	}
	p.reset()
	return p, nil
}

// reset frees all blocks. They are handed out again in the same order, so that memory that was touched before is
// used before any that was not.
func (p *pool[E]) reset() {
	p.fresh.Store(0)
	p.spares.list, p.spares.count = emptyList, 0
	for i := range p.zones {
		p.zones[i].reset()
	}
}

var errNoBlocks = errors.New("the chunk's memory is full: more records came than it was made for")

// take gives a block that belongs to nobody: of the zone if it has one or can get more, else of another.
func (p *pool[E]) take(zone int) uint32 {
	if b := p.takeFrom(zone); b != none {
		return b
	}
	for i := range p.zones {
		if b := p.zones[i].lend(p.next); b != none {
			return b
		}
	}
	panic(errNoBlocks) // the sizes of the chunk are wrong
}

// takeFrom gives a block of the zone, or none.
func (p *pool[E]) takeFrom(zone int) uint32 {
	z := &p.zones[zone]
	if b := z.takeFresh(); b != none {
		return b
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if b := z.takeFreed(p.next); b != none {
		return b
	}
	if b := z.takeFresh(); b != none { // somebody else was faster to get an extent
		return b
	}
	if b := p.takeSpare(); b != none {
		return b
	}
	from := p.fresh.Add(int64(p.extent)) - int64(p.extent)
	if from >= int64(p.blocks) {
		return none
	}
	return z.grow(uint32(from), uint32(min(from+int64(p.extent), int64(p.blocks))))
}

// spare takes blocks that belonged to some zone. No zone can be released before the next reset.
func (p *pool[E]) spare(blocks list, count int64) {
	if blocks.head == none {
		return
	}
	p.spares.mu.Lock()
	defer p.spares.mu.Unlock()
	p.join(&p.spares.list, blocks)
	p.spares.count += count
	for i := range p.zones {
		p.zones[i].lent = true
	}
}

// takeSpare gives a spare block, or none.
func (p *pool[E]) takeSpare() uint32 {
	p.spares.mu.Lock()
	defer p.spares.mu.Unlock()
	b := p.spares.list.head
	if b == none {
		return none
	}
	if p.spares.list.head = p.next[b]; p.spares.list.head == none {
		p.spares.list = emptyList
	}
	p.spares.count--
	return b
}

// free gives blocks to a zone.
func (p *pool[E]) free(zone int, blocks list, count int64) {
	if blocks.head == none {
		return
	}
	z := &p.zones[zone]
	z.mu.Lock()
	defer z.mu.Unlock()
	p.next[blocks.tail] = z.freed.head
	z.freed.head = blocks.head
	z.freeCount += count
}

// release gives away the extents of a zone. REQUIRES: none of its blocks is in use, and it is the last time before reset.
func (p *pool[E]) release(zone int) []stretch {
	z := &p.zones[zone]
	if z.lent {
		return nil
	}
	bytes := func(block uint32) int { return len(arena.ByteView(p.elems[:int(block)<<p.shift])) }
	var extents []stretch
	for _, first := range z.extents {
		start := bytes(first)
		extents = append(extents, stretch{start, start, bytes(min(first+uint32(p.extent), uint32(p.blocks)))})
	}
	z.extents = z.extents[:0]
	return extents
}

// empty frees all blocks, of other memory if a writer may still refer to this.
func (p *pool[E]) empty() error {
	if p.shared {
		if err := p.renew(); err != nil {
			return err
		}
	}
	p.shared = false
	p.reset()
	return nil
}

// renew replaces the memory by as much that nobody else refers to.
func (p *pool[E]) renew() error {
	memory, err := arena.Alloc(len(p.memory.Bytes()))
	if err != nil {
		return err
	}
	old := p.memory
	p.memory, p.elems = memory, arena.View[E](memory.Bytes())
	return old.Free()
}

// available is the number of blocks that take can give. REQUIRES: no worker takes or frees blocks meanwhile.
func (p *pool[E]) available() int64 {
	n := max(0, int64(p.blocks)-p.fresh.Load()) + p.spares.count
	for i := range p.zones {
		n += p.zones[i].available()
	}
	return n
}

// touched is the number of blocks that have been handed out since reset, at the start of the memory.
func (p *pool[E]) touched() int64 { return min(p.fresh.Load(), int64(p.blocks)) }

// push appends an empty block to l.
func (p *pool[E]) push(l *list, block uint32) {
	p.next[block], p.used[block] = none, 0
	if l.head == none {
		l.head = block
	} else {
		p.next[l.tail] = block
	}
	l.tail = block
}

// join appends the blocks of m to l.
func (p *pool[E]) join(l *list, m list) {
	switch {
	case m.head == none:
	case l.head == none:
		*l = m
	default:
		p.next[l.tail] = m.head
		l.tail = m.tail
	}
}

// content is the elements of a block.
func (p *pool[E]) content(block uint32) []E {
	at := int(block) << p.shift
	return p.elems[at : at+int(p.used[block])]
}

// gather copies the elements of l to dst and returns them.
func (p *pool[E]) gather(dst []E, l list) []E {
	n := 0
	for b := l.head; b != none; b = p.next[b] {
		n += copy(dst[n:], p.content(b))
	}
	return dst[:n]
}

// pack moves elements within l so that at most one of its blocks is not full, and frees what becomes empty.
func (p *pool[E]) pack(zone int, l list) list {
	packed, emptied, last := emptyList, emptyList, none
	var count int64
	for b, next := l.head, none; b != none; b = next {
		next = p.next[b]
		if last != none {
			p.fill(last, b)
		}
		switch {
		case p.used[b] == 0:
			p.push(&emptied, b)
			count++
			continue
		case last == none || int(p.used[last]) == p.block:
			last = b
		}
		p.link(&packed, b)
	}
	p.free(zone, emptied, count)
	return packed
}

// link is push that keeps the block's content.
func (p *pool[E]) link(l *list, block uint32) {
	used := p.used[block]
	p.push(l, block)
	p.used[block] = used
}

// fill moves elements from the end of block from to that of block to until to is full or from is empty.
func (p *pool[E]) fill(to, from uint32) {
	n := min(p.block-int(p.used[to]), int(p.used[from]))
	source := p.content(from)
	p.used[to] += uint32(n)
	copied := p.content(to)
	copy(copied[len(copied)-n:], source[len(source)-n:])
	p.used[from] -= uint32(n)
}

// count is the number of elements of l.
func (p *pool[E]) count(l list) int64 {
	var n int64
	for b := l.head; b != none; b = p.next[b] {
		n += int64(p.used[b])
	}
	return n
}

// emptied sets the blocks of l to hold nothing.
func (p *pool[E]) emptied(l list) list {
	for b := l.head; b != none; b = p.next[b] {
		p.used[b] = 0
	}
	return l
}

// prune frees the blocks of l that hold nothing and returns the others.
func (p *pool[E]) prune(zone int, l list) list {
	kept, freed := emptyList, emptyList
	var count int64
	for b, next := l.head, none; b != none; b = next {
		next = p.next[b]
		if p.used[b] == 0 {
			p.push(&freed, b)
			count++
		} else {
			p.link(&kept, b)
		}
	}
	p.free(zone, freed, count)
	return kept
}
