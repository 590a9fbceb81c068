package extsort

import (
	"sync"
	"sync/atomic"
	"time"
)

// meter times the phases of a run and tells Progress of them. One phase is open at a time; bytes may be added
// from many goroutines.
type meter struct {
	progress Progress // never nil
	phases   []Phase
	start    time.Time // of the open phase
	counted  atomic.Int32
}

// stream is one of the places where bytes pass. Each phase is measured at one of them.
type stream int32

const (
	atInput  stream = iota // records are read from the inputs
	atSpill                // sorted records are spilled
	atOutput               // records reach the output
)

// begin opens a phase in which totalBytes are to pass at; -1: not known.
func (m *meter) begin(name string, at stream, totalBytes int64) {
	m.phases = append(m.phases, Phase{Name: name})
	m.start = time.Now()
	m.counted.Store(int32(at))
	m.progress.Begin(name, max(totalBytes, -1))
}

// note enters a phase that went by unobserved.
func (m *meter) note(name string, seconds float64) {
	m.phases = append(m.phases, Phase{Name: name, Seconds: seconds})
}

// add tells of bytes that passed at a place.
func (m *meter) add(at stream, bytes int) {
	if stream(m.counted.Load()) == at {
		m.progress.Add(int64(bytes))
	}
}

// end closes the open phase, through which bytes went.
func (m *meter) end(bytes int64) {
	p := &m.phases[len(m.phases)-1]
	p.Seconds, p.Bytes = since(m.start), bytes
	m.progress.End()
}

// silent is the Progress of those who want none.
type silent struct{}

func (silent) Begin(string, int64) {}
func (silent) Add(int64)           {}
func (silent) End()                {}

// peakSampler watches the anonymous memory of this process while a run lasts.
type peakSampler struct {
	stop chan struct{}
	done sync.WaitGroup
	peak int64
}

// samplePeriod is short against the phases of a sort that runs for long, and one reading takes some 20 µs.
const samplePeriod = 20 * time.Millisecond

func startPeakSampler() *peakSampler {
	p := &peakSampler{stop: make(chan struct{})}
	p.done.Go(func() {
		ticker := time.NewTicker(samplePeriod)
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

// end stops the sampler and returns the peak in bytes; 0 where the system does not tell.
func (p *peakSampler) end() int64 {
	close(p.stop)
	p.done.Wait()
	return p.peak
}
