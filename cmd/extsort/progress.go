package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// bars shows the phases of a run as progress bars, one line each, with bytes per second and time left. It is the
// extsort.Progress of the command.
//
// Add is called very often and from many goroutines, so that it only counts; a ticker moves the bar.
type bars struct {
	w     io.Writer
	quick time.Duration // a phase that ends sooner shows nothing, so that small sorts stay quiet
	tick  time.Duration

	added atomic.Int64 // bytes of the running phase
	stop  func()       // ends the bar of the running phase; nil: none

	phase atomic.Pointer[phase] // the last that began; nil: none
}

// phase is what was told of a phase when it began.
type phase struct {
	name       string
	totalBytes int64
	start      time.Time
}

// String tells in one line how far the run is.
func (b *bars) String() string {
	p := b.phase.Load()
	if p == nil {
		return "starting"
	}
	done, spent := b.added.Load(), time.Since(p.start).Seconds()
	of := ""
	if p.totalBytes > 0 {
		of = fmt.Sprintf(" of %s (%d %%)", humanBytes(p.totalBytes), min(100*done/p.totalBytes, 100))
	}
	return fmt.Sprintf("%s: %s%s in %s, %s", p.name, humanBytes(done), of, seconds(spent), rate(done, spent))
}

// newBars makes bars that draw on w. On a terminal they move smoothly and leave quick phases out; elsewhere,
// where every movement is one more line in a log, they move once a second and show all phases.
func newBars(w io.Writer, terminal bool) *bars {
	if terminal {
		return &bars{w: w, quick: 300 * time.Millisecond, tick: 100 * time.Millisecond}
	}
	return &bars{w: w, tick: time.Second}
}

// Begin starts the bar of a phase. totalBytes < 0: not known, which shows a spinner.
func (b *bars) Begin(phaseName string, totalBytes int64) {
	b.End()
	b.added.Store(0)
	b.phase.Store(&phase{phaseName, totalBytes, time.Now()})
	if totalBytes == 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	var drawing sync.WaitGroup
	drawing.Go(func() { b.draw(ctx, phaseName, totalBytes) })
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

// End completes the bar of the running phase, if there is one.
func (b *bars) End() {
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
}

// draw shows one phase until it is over.
func (b *bars) draw(ctx context.Context, phase string, totalBytes int64) {
	start, ticks := time.Now(), time.Tick(b.tick)
	bar := newBar(b.w, phase, totalBytes)
	bar.StartWithoutRender() // or the rate would count from the first movement on
	for over := false; !over; {
		select {
		case <-ticks:
		case <-ctx.Done():
			over = true
		}
		if time.Since(start) >= b.quick {
			// More than the bar holds is an error that stops it. A total that is not known is the largest number here.
			bar.Set64(int64(min(uint64(b.added.Load()), uint64(totalBytes))))
			if over {
				fmt.Fprintln(b.w)
			}
		}
	}
}

func newBar(w io.Writer, phase string, totalBytes int64) *progressbar.ProgressBar {
	return progressbar.NewOptions64(max(totalBytes, -1),
		progressbar.OptionSetWriter(onlyWriter{w}),
		progressbar.OptionSetDescription(fmt.Sprintf("%-14s", phase)),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowCount(),
		progressbar.OptionShowTotalBytes(true),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionSetPredictTime(totalBytes > 0),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetWidth(20),
		progressbar.OptionShowElapsedTimeOnFinish(),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionSetSpinnerChangeInterval(0), // otherwise it goes on spinning after its end
	)
}

// onlyWriter hides that a writer is a file: progressbar would fsync it at every movement.
type onlyWriter struct{ io.Writer }
