package chunker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/device"
)

// Foreseen is a source that can be read from the disk into memory before its records are asked for.
type Foreseen interface {
	device.Source

	// ReadAhead has the system read the records, maxBytes of them at most, and returns when that is under way or ctx is done. It is
	// only a hint, whose errors are those of reading later. It does nothing where what was read before was in memory.
	ReadAhead(ctx context.Context, maxBytes int64)
}

// ahead has the system read what will be asked for soon, as long as reading takes so long that it must come from a disk. By itself
// the system reads ahead too little for several workers that read in turns, and nothing while a chunk is being sorted and stored.
type ahead struct {
	askFor func(first, n int64) // has the system read n records from index first on
	window int64                // records that are asked for beyond those that are being read
	step   int64                // records that are asked for at a time

	seen, slow atomic.Int32 // reads, of late
	fromDisk   atomic.Bool  // once and for all: to ask for what is in memory takes 5 ms a GiB
}

const (
	aheadWindow = 32 << 20 // bytes
	aheadStep   = 4 << 20  // bytes: so much is read for nothing when a sort is cancelled

	// slowBytesPerSecond is less than memory gives one worker, and more than most disks do. A worker may also have been stopped
	// while it read: only several slow reads, and more than one of slowShare of those of late, tell of a disk.
	slowBytesPerSecond = 1.5e9
	fewSlow            = 3
	slowShare          = 8
	ofLate             = 64

	// timedAtLeast is the least read that is timed, in bytes: a shorter one takes as long for itself.
	timedAtLeast = 32 << 10
)

func newAhead(recordSize int, askFor func(first, n int64)) *ahead {
	size := int64(recordSize)
	return &ahead{askFor: askFor, window: max(aheadWindow/size, 1), step: max(aheadStep/size, 1)}
}

// note takes how long it took to read so many bytes.
func (a *ahead) note(bytes int, took time.Duration) {
	if bytes < timedAtLeast || a.fromDisk.Load() {
		return
	}
	seen := a.seen.Add(1)
	if took.Seconds()*slowBytesPerSecond > float64(bytes) {
		if slow := a.slow.Add(1); slow >= fewSlow && slow*slowShare > seen {
			a.fromDisk.Store(true)
		}
	}
	if seen >= ofLate { // others may count meanwhile: it is no more than an impression
		a.seen.Store(seen / 2)
		a.slow.Store(a.slow.Load() / 2)
	}
}

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
