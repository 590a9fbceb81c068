package session

import "github.com/extsort/extsort/internal/engine"

// Progress receives the progress of a run. If the value also has the method Expect of Tracker,
// Expect receives the planned phases.
type Progress = engine.Progress

// A Tracker is a Progress that returns the state of a run at any time. The zero value is ready for
// one run.
type Tracker = engine.Tracker

// A Snapshot describes the progress of a run.
type Snapshot = engine.Snapshot
