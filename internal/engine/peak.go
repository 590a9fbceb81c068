package engine

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"time"
)

// Peak watches the anonymous memory of this process while a run lasts.
type Peak struct {
	stop chan struct{}
	done sync.WaitGroup
	peak int64
}

// peakPeriod is short against the stages of a sort that runs for long, and one reading takes some 20 µs.
const peakPeriod = 20 * time.Millisecond

// WatchPeak begins to watch.
func WatchPeak() *Peak {
	p := &Peak{stop: make(chan struct{})}
	p.done.Go(func() {
		ticker := time.NewTicker(peakPeriod)
		defer ticker.Stop()
		for {
			p.peak = max(p.peak, anonymousMemory())
			select {
			case <-ticker.C:
			case <-p.stop:
				return
			}
		}
	})
	return p
}

// End stops watching and returns the peak in bytes; 0 where the system does not tell.
func (p *Peak) End() int64 {
	close(p.stop)
	p.done.Wait()
	return p.peak
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
