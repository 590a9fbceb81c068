package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/chunker/plan"
)

// Tracker is a Progress that knows how far the run is. Add is called very often and from many goroutines, so that it
// only counts.
type Tracker struct {
	added atomic.Int64 // bytes of the last stage

	mu       sync.Mutex
	start    time.Time    // of the run
	stage    plan.Stage   // the last that began; its name is "" before; Bytes < 0: not known
	running  bool         // it is not over
	number   int          // it is the number-th
	before   int64        // bytes of the stages before it
	expected []plan.Stage // of the run, as planned
}

// Snapshot is how far a run is.
type Snapshot struct {
	Phase              string
	PhaseIndex, Phases int
	Done, Total        int64
	Elapsed, Remaining time.Duration
}

// Expect tells which stages a run will have, and begins to count anew.
func (t *Tracker) Expect(stages []plan.Stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected, t.stage, t.number, t.before, t.running = stages, plan.Stage{}, 0, 0, false
	t.start = time.Time{}
	t.added.Store(0)
}

// Begin starts a stage, after the end of the one before. totalBytes < 0: not known.
func (t *Tracker) Begin(stage string, totalBytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.before += t.added.Swap(0)
	t.stage, t.running = plan.Stage{Name: stage, Bytes: totalBytes}, true
	t.number++
	if t.start.IsZero() {
		t.start = time.Now()
	}
}

// Add counts bytes of the running stage.
func (t *Tracker) Add(bytes int64) { t.added.Add(bytes) }

// End completes the running stage.
func (t *Tracker) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running = false
}

// Snapshot is how far the run is. What follows the running stage is taken from the plan; a stage of a length that is
// not known, after others, is one that no records pass, such as waiting for the disk.
func (t *Tracker) Snapshot() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	added := t.added.Load()
	s := Snapshot{Phase: t.stage.Name, PhaseIndex: t.number, Phases: t.number, Done: t.before + added, Remaining: -1}
	if t.number > 0 {
		s.Elapsed = time.Since(t.start)
	}
	s.Total = t.before + max(t.stage.Bytes, added)
	if t.stage.Bytes < 0 && t.before == 0 && t.running {
		s.Total = -1
	}
	for i, stage := range t.expected {
		if stage.Name == t.stage.Name {
			s.later(t.expected[i+1:])
			break
		}
	}
	if s.Total >= 0 && s.Done > 0 {
		s.Remaining = time.Duration(float64(s.Elapsed) * (float64(s.Total)/float64(s.Done) - 1)).Round(time.Second)
	}
	return s
}

// later adds the stages that are still to come.
func (s *Snapshot) later(stages []plan.Stage) {
	s.Phases += len(stages)
	for _, next := range stages {
		if s.Total >= 0 {
			s.Total += max(next.Bytes, 0)
		}
	}
}
