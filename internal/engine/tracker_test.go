package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/extsort/extsort/chunker/plan"
)

// TestTracker checks the bytes and the remaining time of several phases.
func TestTracker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tracker Tracker
		if s := tracker.Snapshot(); s != (Snapshot{Remaining: -1}) {
			t.Errorf("before a run: %+v", s)
		}
		tracker.Expect([]plan.Stage{{Name: "sort", Bytes: 100}, {Name: "merge", Bytes: 100}, {Name: "finish"}})
		tracker.Begin("sort", 100)
		if s := tracker.Snapshot(); s.Remaining != -1 || s.Total != 200 {
			t.Errorf("nothing is done: %+v", s)
		}
		tracker.Add(100)
		tracker.End()
		tracker.Begin("merge", 100)
		tracker.Add(50)
		time.Sleep(time.Minute)
		want := Snapshot{"merge", 2, 3, 50, 100, time.Minute, 150, 200, time.Minute, 20 * time.Second}
		if s := tracker.Snapshot(); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
		tracker.Expect([]plan.Stage{{Name: "sort", Bytes: 100, Seconds: 1}, {Name: "merge", Bytes: 100, Seconds: 3},
			{Name: "finish", Seconds: 2}})
		for i, step := range []struct {
			stage string
			bytes int64
			took  time.Duration
			left  time.Duration
		}{
			{"sort", 50, 5 * time.Second, 55 * time.Second},   // 1/12 of the predicted seconds
			{"sort", 50, 15 * time.Second, 100 * time.Second}, // 20 s instead of 1 s; 5 left
			{"merge", 50, 30 * time.Second, 70 * time.Second}, // 50 s instead of 2.5 s; 3.5 left
			{"merge", 50, 30 * time.Second, 40 * time.Second},
			{"finish", 0, 30 * time.Second, 10 * time.Second}, // 80 s instead of 4 s: 120 s in all
			{"finish", 0, 30 * time.Second, 0},
		} {
			if tracker.Snapshot().Phase != step.stage {
				tracker.Begin(step.stage, map[bool]int64{true: -1, false: 100}[step.stage == "finish"])
			}
			tracker.Add(step.bytes)
			time.Sleep(step.took)
			if s := tracker.Snapshot(); s.Remaining != step.left {
				t.Errorf("step %d: %v left, want %v", i, s.Remaining, step.left)
			}
		}
		tracker.Expect(nil)
		tracker.Begin("read", -1)
		tracker.Add(10)
		want = Snapshot{"read", 1, 1, 10, -1, 0, 10, -1, 0, -1}
		if s := tracker.Snapshot(); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
	})
}

// TestTrackerOfAStream checks that no time is predicted while a stage of unknown length runs, even
// if others have finished.
func TestTrackerOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tracker Tracker
		tracker.Expect([]plan.Stage{{Name: plan.StageRead, Bytes: -1}, {Name: plan.StagePartition, Bytes: -1},
			{Name: plan.StageParts, Bytes: -1}, {Name: plan.StageFinish}})
		for i, step := range []struct {
			stage      string
			size       int64
			done       int64
			phase, all int64
			remaining  time.Duration
			seconds    time.Duration
		}{
			{plan.StageRead, -1, 100, -1, -1, -1, 10 * time.Second},
			{plan.StagePartition, -1, 300, -1, -1, -1, 30 * time.Second},
			{plan.StageParts, 400, 200, 400, 800, 20 * time.Second, 20 * time.Second},
			{plan.StageParts, 400, 200, 400, 800, 0, 20 * time.Second},
			{plan.StageFinish, -1, 0, 0, 800, 0, 0},
		} {
			if tracker.Snapshot().Phase != step.stage {
				tracker.Begin(step.stage, step.size)
			}
			tracker.Add(step.done)
			time.Sleep(step.seconds)
			s := tracker.Snapshot()
			if s.PhaseTotal != step.phase || s.Total != step.all || s.Remaining != step.remaining {
				t.Errorf("step %d: %+v", i, s)
			}
		}
	})
}
