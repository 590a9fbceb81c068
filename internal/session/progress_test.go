package session

import (
	"sync"
)

// canceller is a Progress that calls cancel once, when one phase has processed at least a number of
// bytes.
type canceller struct {
	cancel func()
	stage  int // index of this phase: 0, 1, …
	after  int64

	mu     sync.Mutex
	passed int64
}

func (c *canceller) Begin(string, int64) { c.Add(0) }

func (c *canceller) Add(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.passed += bytes; c.stage == 0 && c.passed >= c.after && c.cancel != nil {
		c.cancel()
		c.cancel = nil
	}
}

func (c *canceller) End() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stage--
	c.passed = 0
}

// recorder is a Progress that records all calls.
type recorder struct {
	mu     sync.Mutex
	phases []string
	totals []int64
	bytes  []int64
	open   bool
	faults []string
}

func (p *recorder) Begin(phase string, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		p.faults = append(p.faults, phase+" begins while another phase is open")
	}
	p.open = true
	p.phases, p.totals, p.bytes = append(p.phases, phase), append(p.totals, total), append(p.bytes, 0)
}

func (p *recorder) Add(bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open {
		p.faults = append(p.faults, "bytes pass while no phase is open")
		return
	}
	p.bytes[len(p.bytes)-1] += bytes
}

func (p *recorder) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.open {
		p.faults = append(p.faults, "a phase ends that had not begun")
	}
	p.open = false
}
