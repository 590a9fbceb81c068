package engine

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/chunker/plan"
)

// A Tracker is a Progress that computes how far the run is. Add only counts, because many
// goroutines call it very often.
type Tracker struct {
	added atomic.Int64 // number of bytes of the current stage

	mu    sync.Mutex
	start time.Time // of the run
	// stage is the current or last stage. Its name is "" before the first one, and its Bytes are
	// negative if not known.
	stage    plan.Stage
	running  bool         // whether the stage is running
	began    time.Time    // start of the stage
	number   int          // number of the stage
	before   int64        // number of bytes of earlier stages
	expected []plan.Stage // planned stages of the run
}

// A Snapshot describes the progress of a run. Each phase processes about as many bytes as the input
// has, so Total is a multiple of the size of the input.
type Snapshot struct {
	Phase        string // the running phase; "" before the first
	PhaseIndex   int    // its number, from 1
	Phases       int    // the number of phases, as planned
	PhaseDone    int64  // bytes of the running phase
	PhaseTotal   int64  // its size in bytes; -1: unknown
	PhaseElapsed time.Duration
	Done         int64 // bytes of all phases so far
	Total        int64 // bytes of all phases; -1: unknown
	Elapsed      time.Duration
	Remaining    time.Duration // estimate at the rate so far, in whole seconds; -1: unknown
}

// Expect sets the planned stages of a run and resets the counters.
func (t *Tracker) Expect(stages []plan.Stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected = stages
	t.stage = plan.Stage{}
	t.number = 0
	t.before = 0
	t.running = false
	t.start = time.Time{}
	t.added.Store(0)
}

// Begin starts a stage. totalBytes < 0 means not known.
func (t *Tracker) Begin(stage string, totalBytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before += t.added.Swap(0)
	t.stage = plan.Stage{Name: stage, Bytes: totalBytes}
	t.running = true
	t.number++
	if t.began = time.Now(); t.start.IsZero() {
		t.start = t.began
	}
}

// Add adds bytes to the running stage.
func (t *Tracker) Add(bytes int64) { t.added.Add(bytes) }

// End ends the running stage.
func (t *Tracker) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running = false
}

// Snapshot returns the progress of the run. It takes the stages after the running one from the
// plan. The total is not known while a stage of unknown length is running. A stream is read in
// several stages, so this need not be the first one.
func (t *Tracker) Snapshot() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()

	added := t.added.Load()
	s := Snapshot{
		Phase:      t.stage.Name,
		PhaseIndex: t.number,
		Phases:     t.number,
		Done:       t.before + added,
		Remaining:  -1,
	}
	if t.number > 0 {
		s.Elapsed, s.PhaseElapsed = time.Since(t.start), time.Since(t.began)
	}
	s.PhaseDone = added
	s.PhaseTotal = max(t.stage.Bytes, added)
	s.Total = t.before + s.PhaseTotal
	if t.stage.Bytes < 0 && t.running && !t.waits() {
		s.PhaseTotal, s.Total = -1, -1
	}
	for i, stage := range t.expected {
		if stage.Name == t.stage.Name {
			s.later(t.expected[i+1:])
			break
		}
	}

	if s.Total >= 0 && s.Done > 0 {
		s.Remaining = t.remaining(&s, added)
	}
	return s
}

// waits reports whether the running stage transfers no bytes and waits for the disk.
func (t *Tracker) waits() bool {
	return t.stage.Name == plan.StageFinish
}

// remaining estimates the remaining time from the rate so far. The share of each stage is its
// predicted time or, without a prediction, its number of bytes. A stage that transfers no bytes
// has no measurable progress.
func (t *Tracker) remaining(s *Snapshot, added int64) time.Duration {
	done, all := t.predicted(added)
	if done == 0 {
		done = float64(s.Done)
		all = float64(s.Total)
	}

	took := s.Elapsed
	if t.running && t.waits() {
		took = t.began.Sub(t.start)
	}
	return max(time.Duration(float64(took)*all/done)-s.Elapsed, 0).Round(time.Second)
}

// predicted returns the predicted seconds of the completed work and of all stages, or 0 if the plan
// has no prediction.
func (t *Tracker) predicted(added int64) (done, all float64) {
	here := slices.IndexFunc(t.expected, func(s plan.Stage) bool { return s.Name == t.stage.Name })
	for i, stage := range t.expected {
		switch all += stage.Seconds; {
		case here < 0 || stage.Bytes > 0 && stage.Seconds == 0:
			return 0, 0
		case i < here || i == here && !t.running:
			done += stage.Seconds
		case i == here && t.stage.Bytes > 0:
			done += stage.Seconds * min(float64(added)/float64(t.stage.Bytes), 1)
		}
	}

	return done, all
}

// later adds the stages that follow.
func (s *Snapshot) later(stages []plan.Stage) {
	s.Phases += len(stages)
	for _, next := range stages {
		if s.Total >= 0 {
			s.Total += max(next.Bytes, 0)
		}
	}
}
