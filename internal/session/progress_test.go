package session

import (
	"bytes"
	"sync"
	"testing"
)

// canceller is a Progress that calls cancel once, when that many bytes have passed in one phase.
type canceller struct {
	cancel func()
	stage  int // in which it does: 0, 1, …
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

// recorder is a Progress that keeps what it was told.
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

// TestProgress checks that each phase reports as many bytes as it announced.
func TestProgress(t *testing.T) {
	r := seeded(t)
	k := kindNamed("u64")
	data := k.make(t, "zipf", 4000, r)
	type run struct {
		opt  Options
		pipe bool
	}
	runs := []run{{opt: Options{Verify: true}}}
	for _, strategy := range anyStrategy {
		runs = append(runs, run{opt: Options{Strategy: strategy}}, run{opt: Options{Strategy: strategy}, pipe: true})
	}
	for _, c := range runs {
		p := &recorder{}
		opt := small(c.opt)
		opt.Record, opt.Progress = k.spec, p
		if opt.Stdin = bytes.NewReader(data); !c.pipe {
			opt.Inputs = []string{writeFile(t, data)}
		}
		if opt.Verify {
			opt.Output = t.TempDir() + "/out"
		}
		report := checkSort(t, k, data, reference(t, k.layout(t), data, Options{}), opt)
		if p.open || len(p.faults) > 0 {
			t.Errorf("%s: %v, open at the end: %t", describe(opt), p.faults, p.open)
		}
		observed := report.Detail.Phases[len(report.Detail.Phases)-len(p.phases):] // what came before was not announced
		for i, total := range p.totals {
			if total >= 0 && p.bytes[i] != total {
				t.Errorf("%s: %q announced %d bytes, %d passed", describe(opt), p.phases[i], total, p.bytes[i])
			}
			if observed[i].Name != p.phases[i] {
				t.Errorf("%s: phase %q is called %q in the report", describe(opt), p.phases[i], observed[i].Name)
			}
		}
	}
}
