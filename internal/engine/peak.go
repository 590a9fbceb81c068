package engine

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"github.com/extsort/extsort/internal/safely"
)

// peakPeriod is short compared with the stages of a long sort; one reading takes about 20 µs.
const peakPeriod = 20 * time.Millisecond

// WatchPeak measures the anonymous memory of this process until end is called, once. end returns
// the peak in bytes, or 0 if the system does not report it.
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
		_ = watching.Wait() // an unknown peak is 0
		return most
	}
}

// anonymousMemory returns the resident anonymous memory of this process in bytes: allocated and
// touched memory without mapped files. It returns 0 if not known, for example without /proc.
func anonymousMemory() (kib int64) {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := bytes.Cut(status, []byte("RssAnon:")); ok {
		_, _ = fmt.Sscan(string(rest[:min(len(rest), 40)]), &kib) // stays 0 if it is not a number
	}
	return kib << 10
}
