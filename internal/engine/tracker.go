package engine

import (
	"slices"
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
	began    time.Time    // when it did
	number   int          // it is the number-th
	before   int64        // bytes of the stages before it
	expected []plan.Stage // of the run, as planned
}

// Snapshot is how far a run is.
type Snapshot struct {
	Phase                 string
	PhaseIndex, Phases    int
	PhaseDone, PhaseTotal int64
	PhaseElapsed          time.Duration
	Done, Total           int64
	Elapsed, Remaining    time.Duration
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
	if t.began = time.Now(); t.start.IsZero() {
		t.start = t.began
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

// Snapshot returns how far the run is. What follows the running stage is taken from the plan. The total is not known
// while a stage of unknown length runs, whether it is the first or a later one: a stream is read in several stages.
func (t *Tracker) Snapshot() Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	added := t.added.Load()
	s := Snapshot{Phase: t.stage.Name, PhaseIndex: t.number, Phases: t.number, Done: t.before + added, Remaining: -1}
	if t.number > 0 {
		s.Elapsed, s.PhaseElapsed = time.Since(t.start), time.Since(t.began)
	}
	s.PhaseDone, s.PhaseTotal = added, max(t.stage.Bytes, added)
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

// waits reports whether no bytes pass in the running stage: it waits for the disk.
func (t *Tracker) waits() bool { return t.stage.Name == plan.StageFinish }

// remaining is the time that is left at the rate so far: stages take the parts of it that a plan predicts or, where it
// predicts nothing, those of their bytes. Of a stage that no bytes pass nobody knows how far it is.
func (t *Tracker) remaining(s *Snapshot, added int64) time.Duration {
	done, all := t.predicted(added)
	if done == 0 {
		done, all = float64(s.Done), float64(s.Total)
	}
	took := s.Elapsed
	if t.running && t.waits() {
		took = t.began.Sub(t.start)
	}
	return max(time.Duration(float64(took)*all/done)-s.Elapsed, 0).Round(time.Second)
}

// predicted is the seconds that a plan predicts for all stages, and for what is done of them; 0: it does not.
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

// later adds the stages that are still to come.
func (s *Snapshot) later(stages []plan.Stage) {
	s.Phases += len(stages)
	for _, next := range stages {
		if s.Total >= 0 {
			s.Total += max(next.Bytes, 0)
		}
	}
}
