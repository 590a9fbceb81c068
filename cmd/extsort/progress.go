package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/extsort/extsort"
)

// bars shows how far a run is: on a terminal one bar for all of it, elsewhere a line now and then, with the phase, the
// bytes of all phases and the time that is left. It is the extsort.Progress of the command.
//
// Add is called very often and from many goroutines, so that it only counts; a ticker shows what was counted.
type bars struct {
	w     io.Writer
	wide  int           // columns of the terminal; 0: w is none
	quick time.Duration // a run that ends sooner shows nothing, so that small sorts stay quiet
	tick  time.Duration

	added atomic.Int64 // bytes of the running phase
	stop  func()       // ends the drawing; nil: nothing is drawn

	mu       sync.Mutex
	start    time.Time       // of the run
	phase    extsort.Phase   // the last that began; its name is "" before; Bytes < 0: not known
	running  bool            // it is not over
	number   int             // it is the number-th
	before   int64           // bytes of the phases before it
	expected []extsort.Phase // of the run, as planned
}

// standing is how far a run is.
type standing struct {
	phase       string
	number, of  int
	done, total int64 // bytes of all phases; total -1: not known
	spent       time.Duration
}

// left is the time that the bytes take that are left, at the rate of those that are done; -1: not known.
func (s standing) left() time.Duration {
	if s.total < 0 || s.done <= 0 {
		return -1
	}
	return time.Duration(float64(s.spent) * (float64(s.total)/float64(s.done) - 1)).Round(time.Second)
}

func (s standing) String() string {
	if s.number == 0 {
		return "starting"
	}
	of := ""
	if s.total > 0 {
		of = fmt.Sprintf(" of %s (%d%%)", humanBytes(s.total), 100*s.done/s.total)
	}
	return fmt.Sprintf("phase %d of %d, %s: %s%s in %s, %s", s.number, s.of, s.phase, humanBytes(s.done), of,
		seconds(s.spent.Seconds()), rate(s.done, s.spent.Seconds())) +
		when(s.left() > 0, ", %v left", s.left())
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

// Expect tells which phases a run will have, and begins to count anew.
func (b *bars) Expect(phases []extsort.Phase) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected, b.phase, b.number, b.before, b.running = phases, extsort.Phase{}, 0, 0, false
	b.added.Store(0)
}

// Begin starts a phase. totalBytes < 0: not known.
func (b *bars) Begin(phaseName string, totalBytes int64) {
	b.End()
	b.mu.Lock()
	b.before += b.added.Swap(0)
	b.phase, b.running = extsort.Phase{Name: phaseName, Bytes: totalBytes}, true
	b.number++
	first := b.start.IsZero()
	if first {
		b.start = time.Now()
	}
	b.mu.Unlock()
	if !first || b.w == io.Discard {
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

// Add counts bytes of the running phase.
func (b *bars) Add(bytes int64) { b.added.Add(bytes) }

// Write counts bytes that are shown to it.
func (b *bars) Write(p []byte) (int, error) {
	b.Add(int64(len(p)))
	return len(p), nil
}

// End completes the running phase, if there is one. In a log that is told.
func (b *bars) End() {
	b.mu.Lock()
	over := b.running
	b.running = false
	b.mu.Unlock()
	if over && b.wide == 0 {
		fmt.Fprintln(b.w, b.now())
	}
}

// Close ends the last phase and the run. Another one may begin.
func (b *bars) Close() {
	b.End()
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
	b.Expect(nil)
	b.start = time.Time{}
}

// now is how far the run is. What follows the running phase is taken from the plan; a phase of a length that is not
// known, after others, is one that no records pass, such as waiting for the disk.
func (b *bars) now() standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	added := b.added.Load()
	s := standing{phase: b.phase.Name, number: b.number, of: b.number, done: b.before + added, spent: time.Since(b.start)}
	s.total = b.before + max(b.phase.Bytes, added)
	if b.phase.Bytes < 0 && b.before == 0 && b.running {
		s.total = -1
	}
	for i, p := range b.expected {
		if p.Name == b.phase.Name {
			later := b.expected[i+1:]
			s.of += len(later)
			for _, next := range later {
				if s.total >= 0 {
					s.total += max(next.Bytes, 0)
				}
			}
			break
		}
	}
	return s
}

// show shows the run until it is over.
func (b *bars) show(ctx context.Context) {
	ticks := time.Tick(b.tick)
	var line drawn
	for over := false; !over; {
		select {
		case <-ticks:
		case <-ctx.Done():
			over = true
		}
		s := b.now()
		switch {
		case b.wide == 0 && !over:
			fmt.Fprintln(b.w, s)
		case b.wide > 0 && s.spent >= b.quick:
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
func (d *drawn) draw(w io.Writer, columns int, s standing, over bool) {
	if d.bar == nil || (d.total < 0) != (s.total < 0) {
		d.bar, d.total = newBar(w, columns, s.total), s.total
		d.bar.StartWithoutRender()
	}
	text := fmt.Sprintf("%d/%d %-11s", s.number, s.of, s.phase)
	if left := s.left(); left >= 0 && !over {
		text += fmt.Sprintf(" %9v left", left)
	} else {
		text += fmt.Sprintf(" %9v     ", s.spent.Round(time.Second))
	}
	d.bar.Describe(text)
	done := s.done
	if d.total != s.total { // else a change would count as a movement of no bytes, and halve the rate
		d.bar.ChangeMax64(max(s.total, 1))
		d.total = s.total
	}
	if s.total >= 0 && !over {
		done = min(done, max(s.total, 1)-1)
	}
	_ = d.bar.Set64(done) // a bar that stops moving is no fault of the run
	if over {
		fmt.Fprintln(w)
	}
}

// newBar makes a bar that fits a terminal of so many columns.
func newBar(w io.Writer, columns int, totalBytes int64) *progressbar.ProgressBar {
	const texts, amounts = 38, 34 // columns beside the bar, those for amounts apart
	options := []progressbar.Option{
		progressbar.OptionSetWriter(onlyWriter{w}),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowTotalBytes(true),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetWidth(min(max(columns-texts-amounts, 5), 60)),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionSetSpinnerChangeInterval(0), // otherwise it goes on spinning after its end
	}
	if columns >= texts+amounts {
		options = append(options, progressbar.OptionShowCount())
	}
	return progressbar.NewOptions64(cmp.Or(totalBytes, 1), options...)
}

// onlyWriter hides that a writer is a file: progressbar would fsync it at every movement.
type onlyWriter struct{ io.Writer }
