package engine

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/extsort/extsort/internal/safely"
)

// peakPeriod is short against the stages of a sort that runs for long, and one reading takes some 20 µs.
const peakPeriod = 20 * time.Millisecond

// WatchPeak watches the anonymous memory of this process until end is called, once, which gives the peak in bytes; 0
// where the system does not tell.
func WatchPeak() (end func() (bytes int64)) {
	var most int64
	var watching safely.Group
	stop := make(chan struct{})
	watching.Go(func() error {
		ticker := time.NewTicker(peakPeriod)
		defer ticker.Stop()
		for {
			most = max(most, anonymousMemory())
			select {
			case <-ticker.C:
			case <-stop:
				return nil
			}
		}
	})
	return func() int64 {
		close(stop)
		_ = watching.Wait() // a peak that is not known is 0
		return most
	}
}

// anonymousMemory is the resident anonymous memory of this process in bytes: what it has allocated and touched,
// without the pages of files that it maps. 0: not known, as where there is no /proc.
func anonymousMemory() (kib int64) {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := bytes.Cut(status, []byte("RssAnon:")); ok {
		_, _ = fmt.Sscan(string(rest[:min(len(rest), 40)]), &kib) // 0 where it is no number
	}
	return kib << 10
}
