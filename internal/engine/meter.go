package engine

import (
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge/output"
)

// Progress receives the progress of a run. Begin and End are called by one goroutine at a time,
// and Add by many.
type Progress interface {
	Begin(stage string, totalBytes int64) // totalBytes < 0 means not known
	Add(bytes int64)
	End()
}

// A Meter measures the stages of a run and reports them to Progress. One stage is open at a time.
// Several goroutines may add bytes.
type Meter struct {
	Progress Progress     // may be nil
	Stages   []plan.Stage // completed stages

	start   time.Time // of the open stage
	counted atomic.Int32
}

// place is a place where bytes are counted. Each stage is measured at one place.
type place int32

const (
	nowhere  place = iota // no stage is open
	atInput               // records are read from the inputs
	atSpill               // sorted records are spilled
	atOutput              // records reach the output
)

// begin begins a stage in which totalBytes will pass a place; -1 means not known.
func (m *Meter) begin(name string, at place, totalBytes int64) {
	m.Stages = append(m.Stages, plan.Stage{Name: name})
	m.start = time.Now()
	m.counted.Store(int32(at))
	if m.Progress != nil {
		m.Progress.Begin(name, max(totalBytes, -1))
	}
}

// expect passes the expected stages to a Progress that has an Expect method.
func (m *Meter) expect(stages []plan.Stage) {
	if p, ok := m.Progress.(interface{ Expect(stages []plan.Stage) }); ok {
		p.Expect(stages)
	}
}

// Note records a stage that was not measured by the Meter.
func (m *Meter) Note(name string, seconds float64) {
	m.Stages = append(m.Stages, plan.Stage{Name: name, Seconds: seconds})
}

func (m *Meter) add(at place, bytes int) {
	if m.Progress != nil && place(m.counted.Load()) == at {
		m.Progress.Add(int64(bytes))
	}
}

// end ends the open stage. Bytes counted before the next stage begins are not reported: the last
// group of records with equal keys, for instance, is written after all stages that sort.
func (m *Meter) end(bytes int64) {
	m.counted.Store(int32(nowhere))
	s := &m.Stages[len(m.Stages)-1]
	s.Seconds = time.Since(m.start).Seconds()
	s.Bytes = bytes
	if m.Progress != nil {
		m.Progress.End()
	}
}

// inStage measures a function as a stage of the run in which totalBytes will pass a place; -1 means
// not known. Stages that pass the output begin when the whole input has been read.
func inStage(r *Run, name string, at place, totalBytes int64, do func() error) error {
	r.Meter.begin(name, at, totalBytes)
	defer func() { r.Meter.end(r.Input.Bytes()) }()
	if at == atOutput {
		if err := r.Output.expect(r.Input.Records()); err != nil {
			return err
		}
	}
	return do()
}

// watched counts the blocks that are written to w.
func (m *Meter) watched(at place, w device.BlockWriter) device.BlockWriter {
	return output.Observe(func(_ int64, recs []byte) error {
		m.add(at, len(recs))
		return nil
	}, w)
}

// CompareStages combines the measured stages with the predicted ones. It also returns the longest
// stage, and the predicted seconds of the run corrected by the first measured stage.
// Stage.Corrected is the prediction for a stage, corrected by the stages before it.
func CompareStages(
	measured, predicted []plan.Stage, seconds float64,
) (all []plan.Stage, longest string, corrected float64) {
	// sums over the earlier stages with a prediction; maximum of all stages
	took := 0.0
	due := 0.0
	most := 0.0
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
			took += s.Seconds
			due += s.Predicted
		}

		if all = append(all, s); s.Seconds > most {
			most = s.Seconds
			longest = s.Name
		}
	}

	return all, longest, corrected
}
