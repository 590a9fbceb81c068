package input

import (
	"context"
	"sync/atomic"

	"github.com/extsort/extsort/device"
)

// ReadAhead asks the source to read up to maxBytes of records into memory before they are needed.
// It returns when the requests have been made or ctx is done. It does nothing if the source
// cannot read ahead, or if its recent reads came from memory.
func ReadAhead(ctx context.Context, src device.Source, maxBytes int64) {
	if s, ok := src.(interface{ ReadAhead(context.Context, int64) }); ok {
		s.ReadAhead(ctx, maxBytes)
	}
}

// A readahead asks the system to read data that will be needed soon, as long as recent reads came
// from a disk. On its own, the system reads too little ahead for several workers, and nothing
// while a chunk is being sorted and stored.
type readahead struct {
	prefetch      func(first, n int64) // asks the system to read n records from index first on
	diskBytes     func() int64         // returns the number of bytes that came from disks so far
	windowRecords int64                // number of records to request beyond those being read
	stepRecords   int64                // number of records per request

	bytesRead     atomic.Int64 // bytes read since the last call of diskBytes
	lastDiskBytes atomic.Int64 // result of the last call of diskBytes
	// surplusBytes is the number of bytes that came from a disk beyond 1/diskShare of the bytes
	// read.
	surplusBytes atomic.Int64
}

const (
	aheadWindow = 32 << 20 // bytes
	aheadStep   = 4 << 20  // bytes; read in vain if a sort is cancelled

	// At least 1/diskShare of the bytes must come from a disk, because requests for data in
	// memory have a cost as well. Data that was requested in advance no longer counts as coming
	// from a disk when it is read; maxSurplus is large enough to bridge that.
	diskShare  = 8
	maxSurplus = 1 << 30 // bytes
	lookEvery  = 4 << 20 // bytes
)

func newAhead(recordSize int, askFor func(first, n int64)) *readahead {
	size := int64(recordSize)
	a := &readahead{
		prefetch:      askFor,
		diskBytes:     fetchedBytes,
		windowRecords: max(aheadWindow/size, 1),
		stepRecords:   max(aheadStep/size, 1),
	}
	a.lastDiskBytes.Store(a.diskBytes())
	return a
}

// noteRead records that the given number of bytes were read.
func (a *readahead) noteRead(bytes int) {
	read := a.bytesRead.Add(int64(bytes))
	if read < lookEvery || !a.bytesRead.CompareAndSwap(read, 0) {
		return
	}
	fetched := a.diskBytes()
	more := fetched - a.lastDiskBytes.Swap(fetched) - read/diskShare
	a.surplusBytes.Store(min(max(a.surplusBytes.Load()+more, 0), maxSurplus))
}

// fromDisk reports whether recent reads came from a disk.
func (a *readahead) fromDisk() bool { return a.surplusBytes.Load() > 0 }

// request requests the records [from, end) of a source that begins with record first, except
// those already requested.
func (a *readahead) request(asked *atomic.Int64, first, from, end int64) {
	for {
		done := asked.Load()
		start := max(done, from)
		if start >= end {
			return
		}
		if n := min(a.stepRecords, end-start); asked.CompareAndSwap(done, start+n) {
			a.prefetch(first+start, n)
		}
	}
}
