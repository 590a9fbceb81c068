package input

import (
	"context"
	"sync/atomic"

	"github.com/extsort/extsort/device"
)

// ReadAhead has the records of a source read into memory before they are asked for, maxBytes of them at most, and
// returns when that is under way or ctx is done. It does nothing where the source has no such method, or where what was
// read before was in memory.
func ReadAhead(ctx context.Context, src device.Source, maxBytes int64) {
	if s, ok := src.(interface{ ReadAhead(context.Context, int64) }); ok {
		s.ReadAhead(ctx, maxBytes)
	}
}

// ahead has the system read what will be asked for soon, as long as what was read of late came from a disk. By itself
// the system reads ahead too little for several workers, and nothing while a chunk is being sorted and stored.
type ahead struct {
	askFor  func(first, n int64) // has the system read n records from index first on
	fetched func() int64         // bytes that came from disks so far
	window  int64                // records that are asked for beyond those that are being read
	step    int64                // records that are asked for at a time

	read    atomic.Int64 // bytes, since fetched was looked at
	before  atomic.Int64 // fetched, then
	surplus atomic.Int64 // of bytes that came from a disk over a diskShare of those that were read
}

const (
	aheadWindow = 32 << 20 // bytes
	aheadStep   = 4 << 20  // bytes: read in vain when a sort is cancelled

	// One byte in diskShare of those that were read must have come from a disk, since asking for what is in memory is not
	// free. What was asked for before comes from a disk no more when it is read: maxSurplus is more than lies between.
	diskShare  = 8
	maxSurplus = 1 << 30 // bytes
	lookEvery  = 4 << 20 // bytes
)

func newAhead(recordSize int, askFor func(first, n int64)) *ahead {
	size := int64(recordSize)
	a := &ahead{askFor: askFor, fetched: fetchedBytes, window: max(aheadWindow/size, 1), step: max(aheadStep/size, 1)}
	a.before.Store(a.fetched())
	return a
}

// note takes that so many bytes were read.
func (a *ahead) note(bytes int) {
	read := a.read.Add(int64(bytes))
	if read < lookEvery || !a.read.CompareAndSwap(read, 0) {
		return
	}
	fetched := a.fetched()
	more := fetched - a.before.Swap(fetched) - read/diskShare
	a.surplus.Store(min(max(a.surplus.Load()+more, 0), maxSurplus))
}

// fromDisk reports whether what was read of late came from a disk.
func (a *ahead) fromDisk() bool { return a.surplus.Load() > 0 }

// to asks for the records [from, end) of a source that begins with record first, but for those that were asked for.
func (a *ahead) to(asked *atomic.Int64, first, from, end int64) {
	for {
		done := asked.Load()
		start := max(done, from)
		if start >= end {
			return
		}
		if n := min(a.step, end-start); asked.CompareAndSwap(done, start+n) {
			a.askFor(first+start, n)
		}
	}
}
