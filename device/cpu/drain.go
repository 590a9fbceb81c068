package cpu

import (
	"context"
	"sync/atomic"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
)

// storing lets workers take tasks in order, so that the one with the lowest is never behind another: it waits for
// nobody, and writers may wait for those before them.
type storing struct {
	tasks   int
	zones   *usage // nil: the records are stored, but not for the last time
	claimed atomic.Int64
}

// work stores tasks until there are no more. store writes one of them, count records from first on.
func (s *storing) work(store func(task int) (first, count int64, err error)) error {
	for {
		task := int(s.claimed.Add(1)) - 1
		if task >= s.tasks {
			return nil
		}
		first, count, err := store(task)
		if err != nil {
			return err
		}
		s.zones.done(first, count)
	}
}

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

// moved puts recs at the start of dst, where they may be already.
func moved(dst, recs []byte) []byte {
	if len(recs) > 0 && &dst[0] != &recs[0] {
		copy(dst, recs)
	}
	return dst[:len(recs)]
}

// writeInBlocks writes n records in blocks of at most so many. records gives some of them, where they lie or in
// scratch.
func writeInBlocks(
	ctx context.Context, to device.BlockWriter, first int64, n, block int, records func(from, n int) []byte,
) error {
	for from := 0; from < n; from += block {
		if err := to.WriteBlock(ctx, first+int64(from), records(from, min(block, n-from))); err != nil {
			return err
		}
	}
	return nil
}
