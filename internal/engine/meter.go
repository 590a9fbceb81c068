package engine

import (
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge/output"
)

// Progress is told how a run goes. Begin and End are called by one goroutine at a time; Add from many.
type Progress interface {
	Begin(stage string, totalBytes int64) // totalBytes < 0: not known
	Add(bytes int64)
	End()
}

// Meter times the stages of a run and tells Progress of them. One stage is open at a time; bytes may be added from many
// goroutines.
type Meter struct {
	Progress Progress     // nil: nobody is told
	Stages   []plan.Stage // that are over

	start   time.Time // of the open stage
	counted atomic.Int32
}

// place is one of the places where bytes pass. Each stage is measured at one of them.
type place int32

const (
	atInput  place = iota // records are read from the inputs
	atSpill               // sorted records are spilled
	atOutput              // records reach the output
)

// begin opens a stage in which totalBytes are to pass at a place; -1: not known.
func (m *Meter) begin(name string, at place, totalBytes int64) {
	m.Stages = append(m.Stages, plan.Stage{Name: name})
	m.start = time.Now()
	m.counted.Store(int32(at))
	if m.Progress != nil {
		m.Progress.Begin(name, max(totalBytes, -1))
	}
}

// expect tells a Progress that wants to know which stages are to come, of a run that begins with the first of them.
func (m *Meter) expect(stages []plan.Stage) {
	if p, ok := m.Progress.(interface{ Expect(stages []plan.Stage) }); ok {
		p.Expect(stages)
	}
}

// Note enters a stage that went by unobserved.
func (m *Meter) Note(name string, seconds float64) {
	m.Stages = append(m.Stages, plan.Stage{Name: name, Seconds: seconds})
}

func (m *Meter) add(at place, bytes int) {
	if m.Progress != nil && place(m.counted.Load()) == at {
		m.Progress.Add(int64(bytes))
	}
}

func (m *Meter) end(bytes int64) {
	s := &m.Stages[len(m.Stages)-1]
	s.Seconds, s.Bytes = time.Since(m.start).Seconds(), bytes
	if m.Progress != nil {
		m.Progress.End()
	}
}

// watched tells of the blocks that go to w, which is at a place.
func (m *Meter) watched(at place, w device.BlockWriter) device.BlockWriter {
	return output.Observe(func(_ int64, recs []byte) error {
		m.add(at, len(recs))
		return nil
	}, w)
}

// Beside gives the stages that were measured with what was predicted for them, at first and by what those before took;
// the longest one; and what the first one makes of the seconds that were predicted for the run.
func Beside(measured, predicted []plan.Stage, seconds float64) (all []plan.Stage, longest string, corrected float64) {
	took, due, most := 0.0, 0.0, 0.0 // of the stages before that were predicted; of all stages
	for _, s := range measured {
		for _, p := range predicted {
			if p.Name == s.Name {
				s.Predicted = p.Seconds
			}
		}
		if s.Predicted > 0 {
			if due > 0 {
				s.Corrected = s.Predicted * took / due
			} else {
				corrected = seconds * s.Seconds / s.Predicted
			}
			took, due = took+s.Seconds, due+s.Predicted
		}
		if all = append(all, s); s.Seconds > most {
			most, longest = s.Seconds, s.Name
		}
	}
	return all, longest, corrected
}
