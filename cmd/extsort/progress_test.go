package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/extsort/extsort"
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

// addTogether counts bytes from many goroutines.
func addTogether(b *bars, bytes int64) {
	var adders sync.WaitGroup
	for range 16 {
		adders.Go(func() {
			for range 64 {
				b.Add(bytes / (16 * 64))
			}
		})
	}
	adders.Wait()
}

func TestALogHasALineForEachPhase(t *testing.T) {
	var out lockedBuffer
	b := newBars(&out, 0)
	b.Expect([]extsort.Phase{{Name: "sort runs", Bytes: 1 << 20}, {Name: "merge", Bytes: 3 << 20}, {Name: "finish"}})
	b.Begin("sort runs", 1<<20)
	addTogether(b, 1<<20)
	b.Begin("merge", 3<<20)
	addTogether(b, 3<<20)
	b.End()
	b.Begin("finish", -1)
	b.Close()
	b.Close() // a second time does nothing
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	want := []string{
		"phase 1 of 3, sort runs: 1.0 MiB of 4.0 MiB (25%)", "phase 2 of 3, merge: 4.0 MiB of 4.0 MiB (100%)",
		"phase 3 of 3, finish: 4.0 MiB of 4.0 MiB (100%)",
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d: %q", len(lines), len(want), out.String())
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]) || strings.ContainsAny(lines[i], "\r\x1b") {
			t.Errorf("%q, want %q", lines[i], want[i])
		}
	}
}

func TestALogMovesWhileAPhaseRuns(t *testing.T) {
	var out lockedBuffer
	b := newBars(&out, 0)
	b.tick = time.Millisecond
	b.Begin("read", 1000)
	b.Add(500)
	deadline := time.Now().Add(10 * time.Second)
	for ; !strings.Contains(out.String(), "50%"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no movement: %q", out.String())
		}
	}
	b.Close()
	shown := out.String()
	time.Sleep(20 * time.Millisecond)
	if now := out.String(); now != shown {
		t.Errorf("after its end it wrote %q", now[len(shown):])
	}
}

func TestATerminalShowsNothingOfQuickRuns(t *testing.T) {
	var out lockedBuffer
	b := newBars(&out, 80)
	b.Begin("sort", 100)
	b.Add(100)
	b.Close()
	if s := out.String(); s != "" {
		t.Errorf("a run of no time shows %q", s)
	}
}

// TestStanding holds what is told of runs that are not as planned.
func TestStanding(t *testing.T) {
	plan := []extsort.Phase{{Name: "read", Bytes: 100}, {Name: "merge", Bytes: 100}}
	for name, c := range map[string]struct {
		expected []extsort.Phase
		do       func(b *bars)
		want     string
	}{
		"before": {plan, func(*bars) {}, "starting"},
		"half of two": {plan, func(b *bars) { b.Begin("read", 100); b.Add(50) },
			"phase 1 of 2, read: 50 B of 200 B (25%)"},
		"more than announced": {nil, func(b *bars) { b.Begin("read", 100); b.Add(160) },
			"phase 1 of 1, read: 160 B of 160 B (100%)"},
		"length not known": {plan, func(b *bars) { b.Begin("read", -1); b.Add(2048) }, "phase 1 of 2, read: 2.0 KiB in"},
		"known afterwards": {plan, func(b *bars) { b.Begin("read", -1); b.Add(300); b.Begin("merge", 300) },
			"phase 2 of 2, merge: 300 B of 600 B (50%)"},
		"not in the plan": {plan, func(b *bars) { b.Begin("read", 100); b.Add(100); b.Begin("copy", 50) },
			"phase 2 of 2, copy: 100 B of 150 B (66%)"},
		"another plan": {plan, func(b *bars) { b.Begin("read", 100); b.Add(100); b.Expect(plan); b.Begin("read", 100) },
			"phase 1 of 2, read: 0 B of 200 B (0%)"},
		"nothing to do": {nil, func(b *bars) { b.Begin("read", 0) }, "phase 1 of 1, read: 0 B in"},
	} {
		b := newBars(&lockedBuffer{}, 80)
		b.quick = time.Hour
		b.Expect(c.expected)
		c.do(b)
		if got := standing(b.Snapshot()); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		b.Close()
	}
}

// TestBarsFitTheTerminal holds that no showing is wider than the terminal, however large the amounts.
func TestBarsFitTheTerminal(t *testing.T) {
	for _, columns := range []int{60, 80, 100, 200} {
		for _, total := range []int64{-1, 1, 123 << 30, 987_654 << 30} {
			var out lockedBuffer
			var d drawn
			for part := range int64(4) {
				s := extsort.Snapshot{Phase: "sort runs", PhaseIndex: 1, Phases: 3, Done: total / 4 * part, Total: total,
					Elapsed: 7 * time.Hour, Remaining: 21 * time.Hour}
				if total < 0 {
					s.Done, s.Remaining = 987<<40*part, -1
				}
				d.draw(&out, columns, s, part == 3)
			}
			checkWidth(t, fmt.Sprint(total), out.String(), columns)
		}
	}
}

// checkWidth finds lines that would be wrapped, and what is no text.
func checkWidth(t *testing.T, what, shown string, columns int) {
	t.Helper()
	if strings.Count(shown, "\n") != 1 || !strings.HasSuffix(shown, "\n") || strings.Contains(shown, "\x1b[3") {
		t.Errorf("%s at %d columns: not one line without colours: %q", what, columns, shown)
	}
	for line := range strings.FieldsFuncSeq(shown, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if n := len([]rune(line)); n >= columns {
			t.Errorf("%s: %d of %d columns: %q", what, n, columns, line)
		}
	}
}
