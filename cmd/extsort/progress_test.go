package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/extsort/extsort/internal/session"
)

// lockedBuffer is a buffer that the bars' goroutine may write while the test reads it.
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
	b.Expect([]session.Phase{{Name: "sort runs", Bytes: 1 << 20}, {Name: "merge", Bytes: 3 << 20}, {Name: "finish"}})
	b.Begin("sort runs", 1<<20)
	addTogether(b, 1<<20)
	b.Begin("merge", 3<<20)
	addTogether(b, 3<<20)
	b.End()
	b.Begin("finish", -1)
	b.Close()
	b.Close() // a second call does nothing
	b.Done("sorted", 1<<20, 3.1)
	b.Done("sorted", 1<<20, 3.1) // a second call is allowed
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	want := []string{
		"stage 1 of 3, sort runs: 1 MiB of 1 MiB (25% of the sort) after ",
		"stage 2 of 3, merge: 3 MiB of 3 MiB (100% of the sort) after ",
		"stage 3 of 3, finish (100% of the sort) after ", "sorted 1 MiB in 3.1 s",
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
	deadline := time.Now().Add(time.Minute)
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

// TestStanding checks the progress lines of runs that deviate from their plan.
func TestStanding(t *testing.T) {
	plan := []session.Phase{{Name: "read", Bytes: 100}, {Name: "merge", Bytes: 100}}
	for name, c := range map[string]struct {
		expected []session.Phase
		do       func(b *bars)
		want     string
	}{
		"before": {plan, func(*bars) {}, "starting"},
		"half of two": {plan, func(b *bars) { b.Begin("read", 100); b.Add(50) },
			"stage 1 of 2, read: 50 B of 100 B (25% of the sort) after"},
		"more than announced": {nil, func(b *bars) { b.Begin("read", 100); b.Add(160) },
			"stage 1 of 1, read: 160 B of 160 B (100% of the sort) after"},
		"length not known": {
			plan,
			func(b *bars) { b.Begin("read", -1); b.Add(2048) },
			"stage 1 of 2, read: 2 KiB after",
		},
		"length not known later": {plan,
			func(b *bars) { b.Begin("read", -1); b.Add(2048); b.Begin("merge", -1); b.Add(1024) },
			"stage 2 of 2, merge: 1 KiB after"},
		"known afterwards": {plan, func(b *bars) { b.Begin("read", -1); b.Add(300); b.Begin("merge", 300) },
			"stage 2 of 2, merge: 0 B of 300 B (50% of the sort) after"},
		"not in the plan": {plan, func(b *bars) { b.Begin("read", 100); b.Add(100); b.Begin("copy", 50) },
			"stage 2 of 2, copy: 0 B of 50 B (66% of the sort) after"},
		"another plan": {plan, func(b *bars) { b.Begin("read", 100); b.Add(100); b.Expect(plan); b.Begin("read", 100) },
			"stage 1 of 2, read: 0 B of 100 B (0% of the sort) after"},
		"nothing to do": {nil, func(b *bars) { b.Begin("read", 0) }, "stage 1 of 1, read after"},
	} {
		b := newBars(&lockedBuffer{}, 80)
		b.quietTime = time.Hour
		b.Expect(c.expected)
		c.do(b)
		if got := progressLine(b.Snapshot()); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		b.Close()
	}
}

// TestBarsFitTheTerminal checks that no line is wider than the terminal, however large the
// amounts, and that the line is removed at the end.
func TestBarsFitTheTerminal(t *testing.T) {
	for columns := 1; columns <= 210; columns++ {
		for _, total := range []int64{-1, 1, 123 << 30, 987_654 << 30} {
			var out lockedBuffer
			d := terminalLine{w: &out, columns: columns}
			for part := range int64(4) {
				s := session.Snapshot{
					Phase:        "sort runs",
					PhaseIndex:   1,
					Phases:       3,
					Done:         total / 4 * part,
					Total:        total,
					PhaseDone:    total / 8 * part,
					PhaseTotal:   total / 2,
					PhaseElapsed: time.Hour,
					Elapsed:      7 * time.Hour,
					Remaining:    21 * time.Hour,
				}
				if total < 0 {
					s.Done, s.PhaseDone, s.PhaseTotal, s.Remaining = 987<<40*part, 987<<40*part, -1, -1
				}
				d.draw(s)
			}
			d.clear()
			shown := out.String()
			checkWidth(t, fmt.Sprint(total), shown, columns)
			if columns >= 40 && total > 1 && (!strings.Contains(shown, "sort runs") || !strings.Contains(shown, "|") ||
				!strings.Contains(shown, "left") || !strings.Contains(shown, "75%")) {
				t.Errorf("%d of %d columns: a bar lacks something: %q", total, columns, shown)
			}
		}
	}
}

// checkWidth reports lines that would wrap, lines that were not removed, and colours.
func checkWidth(t *testing.T, what, shown string, columns int) {
	t.Helper()
	if strings.Contains(shown, "\n") || !strings.HasSuffix(shown, "\r") || strings.Contains(shown, "\x1b[3") {
		t.Errorf("%s at %d columns: not one line without colours that goes: %q", what, columns, shown)
	}
	lines := strings.FieldsFunc(shown, func(r rune) bool { return r == '\r' })
	for _, line := range lines {
		if n := len([]rune(line)); n >= columns {
			t.Errorf("%s: %d of %d columns: %q", what, n, columns, line)
		}
	}
	if columns > 1 && strings.TrimSpace(lines[len(lines)-1]) != "" {
		t.Errorf("%s at %d columns: %q stays", what, columns, lines[len(lines)-1])
	}
}
