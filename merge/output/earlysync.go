package output

import (
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/internal/safely"
)

// early makes an output durable while the rest of it is written, so that Commit has little left to wait for: a disk
// that has taken what it was sent may still have to be told to keep it, and does that at its own rate.
type early struct {
	least        int64        // bytes that have to be sent between two syncs
	sent, synced atomic.Int64 // bytes that are on their way to the disk, and that were when the last sync began
	busy         sync.Mutex   // one at a time
	syncs        safely.Group
}

// earlyBytes is the least of an output.
const earlyBytes = 64 << 20

// add notes that n more bytes are on their way to the disk. What it finds, Commit reports: the system tells of an
// error once.
func (e *early) add(o *Output, n int64) {
	sent := e.sent.Add(n)
	if sent-e.synced.Load() < e.least || o.past != nil || !e.busy.TryLock() {
		return
	}
	e.synced.Store(sent)
	file := o.file // which an output that is given up does not wait for
	e.syncs.Go(func() error {
		defer e.busy.Unlock()
		return o.do("sync output early", func() error { return syncData(file) })
	})
}
