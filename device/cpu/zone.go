package cpu

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
)

// extentBytes is what a zone gets at a time: a huge page, so that giving it back frees a whole one.
const extentBytes = arena.HugePage

// zone is the part of a pool that the buckets of one range of keys take their blocks from. Zones follow each other in
// the order of their keys. So when the elements of a zone have been stored, its pages can go back to the system, whose
// page cache then needs none that were never touched before for what is written. It owns whole extents; a block that
// it had to lend to another zone, when memory was short, keeps them all.
type zone struct {
	fresh atomic.Uint64 // blocks of its last extent that were never used: the first of them, and their end << 32

	mu        sync.Mutex // protects the following
	freed     list
	freeCount int64
	extents   []uint32 // their first blocks
	lent      bool
}

func (z *zone) reset() {
	z.fresh.Store(0)
	z.freed, z.freeCount, z.extents, z.lent = emptyList, 0, z.extents[:0], false
}

// takeFresh gives a block that was never used, or none. Without a lock: workers that fill the same few buckets need
// their next blocks at the same time.
func (z *zone) takeFresh() uint32 {
	for {
		v := z.fresh.Load()
		if uint32(v) == uint32(v>>32) {
			return none
		}
		if z.fresh.CompareAndSwap(v, v+1) {
			return uint32(v)
		}
	}
}

// takeFreed gives a block that was freed, or none. next is the pool's. REQUIRES: z.mu is held.
func (z *zone) takeFreed(next []uint32) uint32 {
	b := z.freed.head
	if b != none {
		z.freed.head = next[b]
		z.freeCount--
	}
	return b
}

// lend gives a block to another zone, or none.
func (z *zone) lend(next []uint32) uint32 {
	z.mu.Lock()
	defer z.mu.Unlock()
	b := z.takeFresh()
	if b == none {
		b = z.takeFreed(next)
	}
	z.lent = z.lent || b != none
	return b
}

// grow gives the zone an extent and takes its first block. REQUIRES: z.mu is held and it has no fresh blocks.
func (z *zone) grow(from, end uint32) uint32 {
	z.extents = append(z.extents, from)
	z.fresh.Store(uint64(end)<<32 | uint64(from+1))
	return from
}

func (z *zone) available() int64 {
	v := z.fresh.Load()
	return int64(uint32(v>>32)-uint32(v)) + z.freeCount
}

// usage follows which zones are still needed while the records of a sorted chunk are stored for the last time.
type usage struct {
	ends    []int64        // of the records of each zone in the sorted order
	left    []atomic.Int64 // records of each zone that have not been stored
	release func(zone int) []stretch
	spent   *spent
	taker   device.Taker // of what is spent; nil: it goes back to the system

	late   context.Context // of the blocks that the taker has not written when the workers have ended
	cancel context.CancelCauseFunc
}

func (c *chunk[E]) newUsage() *usage {
	u := newUsage(c.pool)
	for _, l := range c.leaves {
		u.left[l.zone].Add(l.count)
	}
	return u.counted()
}

// newUsage is of a pool of whose zones no records are counted yet.
func newUsage[E arena.Word](p *pool[E]) *usage {
	n := len(p.zones)
	return &usage{ends: make([]int64, n), left: make([]atomic.Int64, n), release: p.release, spent: &spent{memory: p.memory}}
}

// counted fills in ends.
func (u *usage) counted() *usage {
	end := int64(0)
	for i := range u.ends {
		end += u.left[i].Load()
		u.ends[i] = end
	}
	return u
}

// outlet makes one for a worker. On nil it is one of records that are stored but not for the last time.
func (u *usage) outlet(to device.BlockWriter) *outlet {
	if u == nil {
		return &outlet{to: to}
	}
	return &outlet{to: to, taker: u.taker, late: u.late, spent: u.spent}
}

// fail lets blocks that have been taken over go unwritten. It does nothing on nil.
func (u *usage) fail(err error) {
	if u != nil {
		u.cancel(err)
	}
}

// done says that n records from first on are no longer needed. It does nothing on nil.
func (u *usage) done(first, n int64) {
	if u == nil {
		return
	}
	for i, end := range u.ends {
		if m := min(n, end-first); m > 0 {
			if u.left[i].Add(-m) == 0 {
				u.spent.add(u.release(i))
			}
			first, n = first+m, n-m
		}
	}
}
