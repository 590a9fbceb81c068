package output

import (
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/internal/safely"
)

// earlySync makes a file durable while it is being written, so that Commit has little left to
// wait for. Data that was sent to a disk may still be in the disk's own cache, and flushing that
// takes time as well.
type earlySync struct {
	least int64 // minimum number of bytes sent between two syncs
	// sent is the number of bytes sent to the disk; synced is the value of sent when the last
	// sync began.
	sent, synced atomic.Int64
	busy         sync.Mutex // allows one sync at a time
	syncs        safely.Group
}

// earlyBytes is the value of earlySync.least for a file.
const earlyBytes = 64 << 20

// noteSent records that n more bytes have been sent to the disk, and starts a sync if it is due.
// Commit reports the error of such a sync, because the system reports an error only once.
func (e *earlySync) noteSent(f *rawFile, n int64) {
	sent := e.sent.Add(n)
	if sent-e.synced.Load() < e.least || !e.busy.TryLock() {
		return
	}
	e.synced.Store(sent)
	e.syncs.Go(func() error {
		defer e.busy.Unlock()
		return f.ops.perform("sync output early", func() error { return syncData(f.file) })
	})
}
