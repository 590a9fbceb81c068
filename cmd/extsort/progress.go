package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/extsort/extsort"
)

// bars shows how far a run is: on a terminal one bar for all of it, elsewhere a line now and then, with the phase, the
// bytes of all phases and the time that is left. It is the extsort.Progress of the command, and a ticker shows what it
// has counted.
type bars struct {
	extsort.Tracker

	w     io.Writer
	wide  int           // columns of the terminal; 0: w is none
	quick time.Duration // a run that ends sooner shows nothing, so that small sorts stay quiet
	tick  time.Duration

	running bool   // a phase is; Begin and End are called by one goroutine at a time
	stop    func() // ends the drawing; nil: nothing is drawn
}

// standing is how far a run is, as one line.
func standing(s extsort.Snapshot) string {
	if s.PhaseIndex == 0 {
		return "starting"
	}
	of := when(s.Total > 0, " of %s (%d%%)", humanBytes(s.Total), 100*s.Done/max(s.Total, 1))
	return fmt.Sprintf("phase %d of %d, %s: %s%s in %s, %s", s.PhaseIndex, s.Phases, s.Phase, humanBytes(s.Done), of,
		seconds(s.Elapsed.Seconds()), rate(s.Done, s.Elapsed.Seconds())) +
		when(s.Remaining > 0, ", %v left", s.Remaining)
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
	if b.running && b.wide == 0 {
		fmt.Fprintln(b.w, standing(b.Snapshot()))
	}
	b.running = false
}

// Close ends the last phase and the run. Another one may begin.
func (b *bars) Close() {
	b.End()
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
	b.Expect(nil)
}

func (b *bars) show(ctx context.Context) {
	ticks := time.Tick(b.tick)
	var line drawn
	for over := false; !over; {
		select {
		case <-ticks:
		case <-ctx.Done():
			over = true
		}
		s := b.Snapshot()
		switch {
		case b.wide == 0 && !over:
			fmt.Fprintln(b.w, standing(s))
		case b.wide > 0 && s.Elapsed >= b.quick:
			line.draw(b.w, b.wide, s, over)
		}
	}
}

// drawn is the bar that stands on the terminal.
type drawn struct {
	bar   *progressbar.ProgressBar // nil: none yet
	total int64                    // that it has; -1: not known
}

// draw moves the bar. It is full only at the end, as a full bar does not move any more.
func (d *drawn) draw(w io.Writer, columns int, s extsort.Snapshot, over bool) {
	if d.bar == nil || (d.total < 0) != (s.Total < 0) {
		d.bar, d.total = newBar(w, columns, s.Total), s.Total
		d.bar.StartWithoutRender()
	}
	text := fmt.Sprintf("%d/%d %-11s", s.PhaseIndex, s.Phases, s.Phase)
	if left := s.Remaining; left >= 0 && !over {
		text += fmt.Sprintf(" %9v left", left)
	} else {
		text += fmt.Sprintf(" %9v     ", s.Elapsed.Round(time.Second))
	}
	if columns >= texts+amounts {
		moved := humanBytes(s.Done) + when(s.Total > 0, "/%s", humanBytes(s.Total)) +
			", " + rate(s.Done, s.Elapsed.Seconds())
		text += fmt.Sprintf(" %*s", amounts-2, moved)
	}
	d.bar.Describe(text)
	done := s.Done
	if d.total != s.Total { // else a change would count as a movement of no bytes, and halve the rate
		d.bar.ChangeMax64(max(s.Total, 1))
		d.total = s.Total
	}
	if s.Total >= 0 && !over {
		done = min(done, max(s.Total, 1)-1)
	}
	_ = d.bar.Set64(done) // a bar that stops moving is no fault of the run
	if over {
		fmt.Fprintln(w)
	}
}

const texts, amounts = 40, 32 // columns beside the bar, those for amounts apart

// newBar makes a bar that fits a terminal of so many columns. The amounts are ours: the bar's own rate is that of the
// last moment, and wrong where its total changes.
func newBar(w io.Writer, columns int, totalBytes int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(cmp.Or(totalBytes, 1),
		progressbar.OptionSetWriter(onlyWriter{w}),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetWidth(min(max(columns-texts-amounts, 5), 60)),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionSetSpinnerChangeInterval(0), // otherwise it goes on spinning after its end
	)
}

// onlyWriter hides that a writer is a file: progressbar would fsync it at every movement.
type onlyWriter struct{ io.Writer }
