package session

import (
	"time"

	"github.com/extsort/extsort/internal/engine"
)

// Progress receives the progress of a run. Begin and End are called by one goroutine at a time, Add by many at once. If
// the value also has the method Expect of Tracker, Expect receives the planned phases.
type Progress interface {
	Begin(phase string, totalBytes int64) // totalBytes < 0: unknown
	Add(bytes int64)
	End()
}

// A Snapshot describes the progress of a run. Each phase processes about as many bytes as the input has, so Total is a
// multiple of the size of the input.
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
	Remaining    time.Duration // the remaining time at the rate so far, in whole seconds; -1: unknown
}

// A Tracker is a Progress that returns the state of a run at any time. The zero value is ready for one run.
type Tracker struct{ engine engine.Tracker }

// Snapshot returns the progress of the run.
func (t *Tracker) Snapshot() Snapshot { return Snapshot(t.engine.Snapshot()) }

// Expect receives the planned phases.
func (t *Tracker) Expect(phases []Phase) { t.engine.Expect(phases) }

// Begin implements Progress.
func (t *Tracker) Begin(phase string, totalBytes int64) { t.engine.Begin(phase, totalBytes) }

// Add implements Progress.
func (t *Tracker) Add(bytes int64) { t.engine.Add(bytes) }

// End implements Progress.
func (t *Tracker) End() { t.engine.End() }
