package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/extsort/extsort/chunker/plan"
)

// TestTracker holds the time that is left against the bytes of all phases.
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
		want := Snapshot{"merge", 2, 3, 150, 200, time.Minute, 20 * time.Second}
		if s := tracker.Snapshot(); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
		tracker.Expect(nil)
		tracker.Begin("read", -1)
		tracker.Add(10)
		want = Snapshot{"read", 1, 1, 10, -1, 0, -1}
		if s := tracker.Snapshot(); s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
	})
}
