package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/session"
)

// bars shows how far a run is: on a terminal one bar for all of it, elsewhere a line now and then, with the phase, its
// bytes and the time that is left. It is the session.Progress of the command, and a ticker shows what it
// has counted.
type bars struct {
	session.Tracker

	w     io.Writer
	wide  int           // columns of the terminal; 0: w is none
	quick time.Duration // a run that ends sooner shows nothing, so that small sorts stay quiet
	tick  time.Duration

	shown   atomic.Bool // something was drawn
	running bool        // a phase is; Begin and End are called by one goroutine at a time
	stop    func()      // ends the drawing; nil: nothing is drawn
}

// progressLine describes how far a run is, in one line. Bytes are those of the running phase. Each phase processes
// all of the input, so that they compare with the size of the file.
func progressLine(s session.Snapshot) string {
	if s.PhaseIndex == 0 {
		return "starting"
	}
	line := fmt.Sprintf("stage %d of %d, %s", s.PhaseIndex, s.Phases, s.Phase)
	if moved := phaseBytes(s); moved != "" {
		line += ": " + moved
	}
	if s.Total > 0 {
		line += fmt.Sprintf(" (%d%% of the sort)", 100*s.Done/s.Total)
	}
	line += " after " + human.Time(s.Elapsed.Seconds())
	if s.PhaseDone > 0 {
		line += ", " + human.Rate(s.PhaseDone, s.PhaseElapsed.Seconds())
	}
	if s.Remaining > 0 {
		line += fmt.Sprintf(", about %s left", human.Estimate(s.Remaining.Seconds()))
	}
	return line
}

// phaseBytes returns the bytes of the running phase, such as "150 MiB of 600 MiB"; "": no bytes pass in it.
func phaseBytes(s session.Snapshot) string {
	switch {
	case s.PhaseTotal > 0:
		return human.Bytes(s.PhaseDone) + " of " + human.Bytes(s.PhaseTotal)
	case s.PhaseTotal < 0:
		return human.Bytes(s.PhaseDone)
	}
	return ""
}

// newBars makes bars that draw on w, a terminal of so many columns; 0: it is none, and each showing is one more line
// in a log.
func newBars(w io.Writer, columns int) *bars {
	b := &bars{w: w, wide: columns, tick: 10 * time.Second}
	if columns > 0 {
		b.quick, b.tick = 300*time.Millisecond, 100*time.Millisecond
	}
	return b
}

// Begin starts a phase. totalBytes < 0: not known.
func (b *bars) Begin(phaseName string, totalBytes int64) {
	b.End()
	b.Tracker.Begin(phaseName, totalBytes)
	b.running = true
	if b.stop != nil || b.w == io.Discard {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var drawing sync.WaitGroup
	drawing.Go(func() { b.show(ctx) })
	b.stop = func() {
		cancel()
		drawing.Wait()
	}
}

func (b *bars) Write(p []byte) (int, error) {
	b.Add(int64(len(p)))
	return len(p), nil
}

// End completes the running phase, if there is one. In a log that is told.
func (b *bars) End() {
	b.Tracker.End()
	if b.running && b.wide == 0 && b.w != io.Discard {
		b.shown.Store(true)
		fmt.Fprintln(b.w, progressLine(b.Snapshot()))
	}
	b.running = false
}

// Close ends the last phase and the run, and removes the bar. Another run may begin.
func (b *bars) Close() {
	b.End()
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
	b.Expect(nil)
}

// Done writes the last line of a run that showed a bar or lines, after Close: what was done with the bytes of the file,
// in how many seconds.
func (b *bars) Done(what string, bytes int64, took float64) {
	if !b.shown.Swap(false) {
		return
	}
	fmt.Fprintf(b.w, "%s %s in %s\n", what, human.Bytes(bytes), human.Time(took))
}

func (b *bars) show(ctx context.Context) {
	ticks := time.Tick(b.tick)
	line := drawn{w: b.w, columns: b.wide}
	defer line.clear()
	for {
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
		s := b.Snapshot()
		switch {
		case b.wide == 0:
			b.shown.Store(true)
			fmt.Fprintln(b.w, progressLine(s))
		case s.Elapsed >= b.quick:
			b.shown.Store(true)
			line.draw(s)
		}
	}
}

// drawn is the line on the terminal: a bar of all phases, and text.
type drawn struct {
	w       io.Writer
	columns int

	any   bool                     // something is on it
	bar   *progressbar.ProgressBar // nil: none yet
	width int                      // of the bar
	total int64                    // of the bar; -1: not known
}

// draw moves the bar. A full bar would not move any more, so that it is full only when it is removed.
func (d *drawn) draw(s session.Snapshot) {
	text := describe(s, d.columns)
	d.any = true
	width := d.columns - 1 - barEdges - utf8.RuneCountInString(text)
	width = min(width, maxBar)
	if width < minBar {
		fmt.Fprintf(d.w, "\r%-*.*s", max(d.columns-1, 0), max(d.columns-1, 0), inAll(s)+text)
		return
	}

	if d.bar == nil || (d.total < 0) != (s.Total < 0) || width != d.width {
		d.clear()
		d.bar, d.total, d.width = newBar(d.w, width, s.Total), s.Total, width
		d.bar.StartWithoutRender()
	}
	d.bar.Describe(text)
	done := s.Done
	if d.total != s.Total { // else a change would count as a movement of no bytes, and halve the rate
		d.bar.ChangeMax64(max(s.Total, 1))
		d.total = s.Total
	}
	if s.Total >= 0 {
		done = min(done, max(s.Total, 1)-1)
	}
	_ = d.bar.Set64(done) // a bar that stops moving does not fail the run
}

// clear removes the line.
func (d *drawn) clear() {
	if d.any {
		fmt.Fprintf(d.w, "\r%*s\r", d.columns-1, "")
	}
}

// Columns of a terminal: from which on the line has each part, and those of a bar. Its edges are the percentage and
// what surrounds it.
const (
	columnsForPhase   = 52 // the number of the phase
	columnsForAmounts = 90 // bytes and rate
	minBar, maxBar    = 5, 60
	barEdges          = 12
)

// describe returns the text of the line, which has the same width throughout a run: the phase, the remaining time or,
// while that is not known, the time so far, and the bytes of the phase.
func describe(s session.Snapshot, columns int) string {
	span, left := s.Remaining, " left"
	if span < 0 {
		span, left = s.Elapsed.Round(time.Second), ""
	}
	if columns < columnsForPhase {
		return fmt.Sprintf("%-11.11s %4.4s%-5s", s.Phase, roughly(span), left)
	}
	text := fmt.Sprintf("%d/%d %-11s %9v%-5s", s.PhaseIndex, s.Phases, s.Phase, span, left)
	if columns >= columnsForAmounts {
		amounts := phaseBytes(s)
		if s.PhaseDone > 0 {
			amounts += ", " + human.Rate(s.PhaseDone, s.PhaseElapsed.Seconds())
		}
		text += fmt.Sprintf(" %35s", amounts)
	}
	return text
}

// roughly shortens a time to one unit: 45s, 12m, 3h, 9d.
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0fm", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0fh", d.Hours())
	}
	return fmt.Sprintf("%.0fd", d.Hours()/24)
}

// inAll returns the progress of a line that has no room for a bar.
func inAll(s session.Snapshot) string {
	if s.Total <= 0 {
		return ""
	}
	return fmt.Sprintf("%d%% ", 100*s.Done/s.Total)
}

// newBar makes a bar of a width. The amounts are ours: the bar's own rate is that of the last moment, and wrong where
// its total changes.
func newBar(w io.Writer, width int, totalBytes int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(cmp.Or(totalBytes, 1),
		progressbar.OptionSetWriter(onlyWriter{w}),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetWidth(width),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionSetSpinnerChangeInterval(0), // otherwise it goes on spinning after its end
	)
}

// onlyWriter hides that a writer is a file: progressbar would fsync it at every movement.
type onlyWriter struct{ io.Writer }
