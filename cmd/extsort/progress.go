package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// bars shows the phases of a run as progress bars, one line each, with bytes per second and time left. It is the
// extsort.Progress of the command; nil bars show nothing.
//
// Add is called very often and from many goroutines, so that it only counts; a ticker moves the bar.
type bars struct {
	w     io.Writer
	quick time.Duration // a phase that ends sooner shows nothing, so that small sorts stay quiet
	tick  time.Duration

	added atomic.Int64 // bytes that the bar does not show yet
	mu    sync.Mutex   // guards stop
	stop  func()       // ends the bar of the running phase; nil: none
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
func (b *bars) Begin(phase string, totalBytes int64) {
	if b == nil {
		return
	}
	b.End()
	b.added.Store(0)
	if totalBytes == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		b.draw(phase, totalBytes, done)
	}()
	b.stop = sync.OnceFunc(func() {
		close(done)
		<-finished
	})
}

// Add counts bytes of the running phase.
func (b *bars) Add(bytes int64) {
	if b != nil {
		b.added.Add(bytes)
	}
}

// End completes the bar of the running phase, if there is one.
func (b *bars) End() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stop != nil {
		b.stop()
		b.stop = nil
	}
}

// draw shows one phase until done is closed.
func (b *bars) draw(phase string, totalBytes int64, done <-chan struct{}) {
	start := time.Now()
	ticker := time.NewTicker(b.tick)
	defer ticker.Stop()
	bar := newBar(b.w, phase, totalBytes)
	bar.StartWithoutRender() // or the rate would count from the first movement on
	left := totalBytes
	move := func() bool {
		if time.Since(start) < b.quick {
			return false
		}
		bytes := b.added.Swap(0)
		if totalBytes > 0 {
			bytes = min(bytes, left) // more than the bar holds is an error that stops it
			left -= bytes
		}
		bar.Add64(bytes)
		return true
	}
	for {
		select {
		case <-ticker.C:
			move()
		case <-done:
			if move() {
				bar.Exit()
				fmt.Fprintln(b.w)
			}
			return
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
