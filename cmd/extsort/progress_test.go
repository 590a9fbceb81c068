package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// lockedBuffer is a buffer that the bars' goroutine writes while the test may read it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestBarsShowEveryPhaseInALog(t *testing.T) {
	var out lockedBuffer
	b := newBars(&out, false)
	for _, phase := range []string{"sort", "merge"} {
		b.Begin(phase, 1<<20)
		var adders sync.WaitGroup
		for range 16 {
			adders.Go(func() {
				for range 64 {
					b.Add(1 << 10)
				}
			})
		}
		adders.Wait()
		b.End()
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want one for each phase: %q", len(lines), out.String())
	}
	for i, phase := range []string{"sort", "merge"} {
		if !strings.Contains(lines[i], phase) || !strings.Contains(lines[i], "100%") ||
			!strings.Contains(lines[i], "1.0 MiB") {
			t.Errorf("the line of %s is %q", phase, lines[i])
		}
	}
}

func TestBarsOnATerminalLeaveQuickPhasesOut(t *testing.T) {
	var out lockedBuffer
	b := newBars(&out, true)
	b.Begin("sort", 100)
	b.Add(100)
	b.End()
	if s := out.String(); s != "" {
		t.Errorf("a phase of no time shows %q", s)
	}
}

func TestBarsMoveWhileAPhaseRuns(t *testing.T) {
	var out lockedBuffer
	b := &bars{w: &out, tick: time.Millisecond}
	b.Begin("read", 1000)
	b.Add(500)
	deadline := time.Now().Add(10 * time.Second)
	for ; !strings.Contains(out.String(), "50%"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no movement: %q", out.String())
		}
	}
	b.End()
}

func TestBarsBearWhatTheyAreTold(t *testing.T) {
	cases := map[string]struct {
		total int64
		added []int64
		want  string
	}{
		"more than announced": {100, []int64{80, 80}, "100%"},
		"length not known":    {-1, []int64{2048}, "2.0 KiB"},
		"nothing to do":       {0, []int64{5}, ""},
		"stopped half-way":    {100, []int64{30}, "30%"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out lockedBuffer
			b := &bars{w: &out, tick: time.Hour}
			b.Begin("phase", c.total)
			for _, n := range c.added {
				b.Add(n)
			}
			b.End()
			b.End() // a second time does nothing
			if got := out.String(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("shows %q, want %q", got, c.want)
			}
		})
	}
}

func TestBeginEndsThePhaseBefore(t *testing.T) {
	var out lockedBuffer
	b := newBars(&out, false)
	b.Begin("first", 10)
	b.Begin("second", 10)
	b.End()
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Errorf("%d lines, want 2: %q", n, out.String())
	}
}

func TestSpinnersStop(t *testing.T) {
	var out lockedBuffer
	b := newBars(&out, false)
	b.Begin("read", -1)
	b.Add(1 << 20)
	b.End()
	shown := out.String()
	time.Sleep(300 * time.Millisecond)
	if now := out.String(); now != shown {
		t.Errorf("after its end the spinner wrote %q", now[len(shown):])
	}
}
