package cpu

import (
	"sync/atomic"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
)

// usage follows which zones are still needed while the records of a sorted chunk are stored for the last time, and
// gives the memory of a zone back when they have been.
type usage struct {
	ends    []int64        // of the records of each zone in the sorted order
	left    []atomic.Int64 // records of each zone that have not been stored
	release func(zone int)
}

// newUsage is of a pool whose zones have so many records each.
func newUsage[E arena.Word](p *pool.Pool[E], records []int64) *usage {
	u := &usage{ends: make([]int64, len(records)), left: make([]atomic.Int64, len(records)), release: p.Release}
	end := int64(0)
	for i, n := range records {
		end += n
		u.left[i].Store(n)
		u.ends[i] = end
	}
	return u
}

// done says that n records from first on are no longer needed. It does nothing on nil.
func (u *usage) done(first, n int64) {
	if u == nil {
		return
	}
	for i, end := range u.ends {
		if m := min(n, end-first); m > 0 {
			if u.left[i].Add(-m) == 0 {
				u.release(i)
			}
			first, n = first+m, n-m
		}
	}
}
