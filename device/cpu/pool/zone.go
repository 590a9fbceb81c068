package pool

import (
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/device/arena"
)

// ExtentBytes is what a zone gets at a time: a huge page, so that giving it back frees a whole one.
const ExtentBytes = arena.HugePage

// Zone is the part of a pool that the buckets of one range of keys take their blocks from. Zones follow each other in
// the order of their keys. So when the elements of a zone have been stored, its pages can go back to the system, whose
// page cache then needs none that were never touched before for what is written. It owns whole extents; a block that
// it had to lend to another zone, when memory was short, keeps them all.
type Zone struct {
	Fresh atomic.Uint64 // blocks of its last extent that were never used: the first of them, and their end << 32

	mu        sync.Mutex // protects the following
	freed     List
	freeCount int64
	Extents   []uint32 // their first blocks
	Lent      bool
}

func (z *Zone) reset() {
	z.Fresh.Store(0)
	z.freed, z.freeCount, z.Extents, z.Lent = Empty, 0, z.Extents[:0], false
}

// takeFresh gives a block that was never used, or none. Without a lock: workers that fill the same few buckets need
// their next blocks at the same time.
func (z *Zone) takeFresh() uint32 {
	for {
		v := z.Fresh.Load()
		if uint32(v) == uint32(v>>32) {
			return None
		}
		if z.Fresh.CompareAndSwap(v, v+1) {
			return uint32(v)
		}
	}
}

// takeOwn gives a block that was freed or never used, or none. next is the pool's. REQUIRES: z.mu is held.
func (z *Zone) takeOwn(next []uint32) uint32 {
	b := z.freed.Head
	if b == None {
		return z.takeFresh()
	}
	z.freed.Head = next[b]
	z.freeCount--
	return b
}

// lend gives a block to another zone, or none.
func (z *Zone) lend(next []uint32) uint32 {
	z.mu.Lock()
	defer z.mu.Unlock()
	b := z.takeOwn(next)
	z.Lent = z.Lent || b != None
	return b
}

// grow gives the zone an extent and takes its first block. REQUIRES: z.mu is held and it has no fresh blocks.
func (z *Zone) grow(from, end uint32) uint32 {
	z.Extents = append(z.Extents, from)
	z.Fresh.Store(uint64(end)<<32 | uint64(from+1))
	return from
}

func (z *Zone) available() int64 {
	v := z.Fresh.Load()
	return int64(uint32(v>>32)-uint32(v)) + z.freeCount
}
