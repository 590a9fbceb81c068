package pool

import (
	"sync"

	"github.com/extsort/extsort/device/arena"
)

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
	Lent       bool
}

// takeOwn gives a block that was freed or never used, or none. next is the pool's. REQUIRES: z.mu is held.
func (z *Zone) takeOwn(next []uint32) uint32 {
	switch b := z.freed; {
	case b != None:
		z.freed = next[b]
		z.freeCount--
		return b
	case z.fresh < z.end:
		z.fresh++
		return z.fresh - 1
	}
	return None
}

// lend gives a block to another zone, or none.
func (z *Zone) lend(next []uint32) uint32 {
	z.mu.Lock()
	defer z.mu.Unlock()
	b := z.takeOwn(next)
	z.Lent = z.Lent || b != None
	return b
}
