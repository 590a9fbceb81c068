package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/session"
)

// bars shows the progress of a run. On a terminal, it shows one bar for the whole run. Elsewhere,
// it periodically prints a line with the phase, its bytes and the remaining time. It is the
// session.Progress of the command; a ticker draws the counts.
type bars struct {
	session.Tracker

	w         io.Writer
	columns   int           // columns of the terminal; 0: w is not a terminal
	quietTime time.Duration // a run shorter than this shows nothing, so that small sorts are quiet
	tick      time.Duration

	shown atomic.Bool // the bar or a line was shown
	// running reports whether a phase is running. Only one goroutine at a time calls Begin and End.
	running bool
	stop    func() // stops drawing; nil: not drawing
}

// progressLine describes the progress of a run in one line. The line shows the bytes of the running
// phase. Each phase processes the whole input, so users can compare these bytes with the size of
// the file.
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
		line += fmt.Sprintf(
			", about %s left", human.Estimate(s.Remaining.Seconds()),
		)
	}
	return line
}

// phaseBytes returns the bytes of the running phase, such as "150 MiB of 600 MiB", or "" if it
// transfers no bytes.
func phaseBytes(s session.Snapshot) string {
	switch {
	case s.PhaseTotal > 0:
		return human.Bytes(s.PhaseDone) + " of " + human.Bytes(s.PhaseTotal)
	case s.PhaseTotal < 0:
		return human.Bytes(s.PhaseDone)
	}
	return ""
}

// newBars returns bars that draw on w, a terminal with this many columns. If columns is 0, w is a
// log that receives one more line at each update.
func newBars(w io.Writer, columns int) *bars {
	b := &bars{
		w:       w,
		columns: columns,
		tick:    10 * time.Second,
	}
	if columns > 0 {
		b.quietTime = 300 * time.Millisecond
		b.tick = 100 * time.Millisecond
	}
	return b
}

// Begin starts a phase. If totalBytes < 0, its size is unknown.
func (b *bars) Begin(phaseName string, totalBytes int64) {
	b.End()
	b.Tracker.Begin(phaseName, totalBytes)
	b.running = true
	if b.stop != nil || b.w == io.Discard {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var drawing sync.WaitGroup
	drawing.Go(func() { b.update(ctx) })
	b.stop = func() {
		cancel()
		drawing.Wait()
	}
}

func (b *bars) Write(p []byte) (int, error) {
	b.Add(int64(len(p)))
	return len(p), nil
}

// End completes the running phase, if there is one, and reports that in a log.
func (b *bars) End() {
	b.Tracker.End()
	if b.running && b.columns == 0 && b.w != io.Discard {
		b.shown.Store(true)
		fmt.Fprintln(b.w, progressLine(b.Snapshot()))
	}
	b.running = false
}

// Close ends the last phase and the run, and removes the bar. Another run may follow.
func (b *bars) Close() {
	b.End()
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
	b.Expect(nil)
}

// Done writes the final line of a run, after Close, if the run showed a bar or lines. The line
// consists of what, a verb such as "sorted", the bytes of the file and the seconds.
func (b *bars) Done(what string, bytes int64, took float64) {
	if !b.shown.Swap(false) {
		return
	}
	fmt.Fprintf(
		b.w, "%s %s in %s\n", what, human.Bytes(bytes), human.Time(took),
	)
}

func (b *bars) update(ctx context.Context) {
	ticks := time.Tick(b.tick)
	line := terminalLine{w: b.w, columns: b.columns}
	defer line.clear()
	for {
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
		s := b.Snapshot()
		switch {
		case b.columns == 0:
			b.shown.Store(true)
			fmt.Fprintln(b.w, progressLine(s))
		case s.Elapsed >= b.quietTime:
			b.shown.Store(true)
			line.draw(s)
		}
	}
}

// terminalLine is the line on the terminal: a bar for all phases, and text.
type terminalLine struct {
	w       io.Writer
	columns int

	isShown bool                     // whether the line is not empty
	bar     *progressbar.ProgressBar // nil before the first drawing
	width   int                      // of the bar
	total   int64                    // total of the bar; -1: unknown
}

// draw updates the bar. A full bar cannot be updated, so it becomes full only when it is removed.
func (d *terminalLine) draw(s session.Snapshot) {
	text := describe(s, d.columns)
	d.isShown = true
	width := d.columns - 1 - barEdges - utf8.RuneCountInString(text)
	width = min(width, maxBar)
	if width < minBar {
		fmt.Fprintf(
			d.w,
			"\r%-*.*s",
			max(d.columns-1, 0),
			max(d.columns-1, 0),
			overallText(s)+text,
		)
		return
	}

	if d.bar == nil || (d.total < 0) != (s.Total < 0) || width != d.width {
		d.clear()
		d.bar = newBar(d.w, width, s.Total)
		d.total = s.Total
		d.width = width
		d.bar.StartWithoutRender()
	}
	d.bar.Describe(text)
	done := s.Done
	// Setting the same total again would count as a movement of 0 bytes and halve the rate.
	if d.total != s.Total {
		d.bar.ChangeMax64(max(s.Total, 1))
		d.total = s.Total
	}
	if s.Total >= 0 {
		done = min(done, max(s.Total, 1)-1)
	}
	_ = d.bar.Set64(done) // the run must not fail if the bar cannot be drawn
}

// clear removes the line.
func (d *terminalLine) clear() {
	if d.isShown {
		fmt.Fprintf(d.w, "\r%*s\r", d.columns-1, "")
	}
}

// The minimum width of the terminal for each part of the line, and the width of a bar. The edges
// of a bar are the percentage and the characters around the bar.
const (
	columnsForPhase   = 52 // number of the phase
	columnsForAmounts = 90 // bytes and rate
	minBar, maxBar    = 5, 60
	barEdges          = 12
)

// describe returns the text of the line, which has a constant width during a run: the phase, the
// remaining time (or the elapsed time if that is unknown), and the bytes of the phase.
func describe(s session.Snapshot, columns int) string {
	span := s.Remaining
	left := " left"
	if span < 0 {
		span = s.Elapsed.Round(time.Second)
		left = ""
	}
	if columns < columnsForPhase {
		return fmt.Sprintf("%-11.11s %4.4s%-5s", s.Phase, roughTime(span), left)
	}
	text := fmt.Sprintf(
		"%d/%d %-11s %9v%-5s", s.PhaseIndex, s.Phases, s.Phase, span, left,
	)
	if columns >= columnsForAmounts {
		amounts := phaseBytes(s)
		if s.PhaseDone > 0 {
			amounts += ", " + human.Rate(s.PhaseDone, s.PhaseElapsed.Seconds())
		}
		text += fmt.Sprintf(" %35s", amounts)
	}
	return text
}

// roughTime shortens a time to one unit: 45s, 12m, 3h, 9d.
func roughTime(d time.Duration) string {
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

// overallText returns the overall progress as text, for a line without room for a bar.
func overallText(s session.Snapshot) string {
	if s.Total <= 0 {
		return ""
	}
	return fmt.Sprintf("%d%% ", 100*s.Done/s.Total)
}

// newBar returns a bar of the given width. It does not use the bar's own text for amounts and rate,
// because that rate covers only the last moment and is wrong after a change of the total.
func newBar(w io.Writer, width int, totalBytes int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(cmp.Or(totalBytes, 1),
		progressbar.OptionSetWriter(onlyWriter{w}),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetWidth(width),
		progressbar.OptionSpinnerType(14),
		// By default, the bar continues to spin after its end.
		progressbar.OptionSetSpinnerChangeInterval(0),
	)
}

// onlyWriter hides that a writer is a file, because progressbar would fsync a file at every
// update.
type onlyWriter struct{ io.Writer }

func (a *app) startBars(when string) *bars {
	w := a.stderr
	width := barColumns(a.stderr)
	if when == "never" || when == "auto" && width == 0 {
		w = io.Discard
		width = 0
	}
	b := newBars(w, width)
	a.running.Store(b)
	return b
}

// barColumns returns the width of a terminal on which a bar can be drawn. It returns 0 if w is
// not a terminal or cannot move its cursor.
func barColumns(w io.Writer) int {
	if os.Getenv("TERM") == "dumb" {
		return 0
	}
	return terminalColumns(w)
}

func printProgress(a *app) {
	b := cmp.Or(a.running.Load(), &bars{})
	fmt.Fprintf(a.stderr, "extsort: %s\n", progressLine(b.Snapshot()))
}

func (f *reportFlags) progressMode() string {
	if f.quiet {
		return "never"
	}
	return f.progress
}
