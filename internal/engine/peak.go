package engine

import (
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
