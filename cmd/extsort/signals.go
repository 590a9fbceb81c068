package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// An interruption is the signal that cancelled a run.
type interruption struct{ signal os.Signal }

func (i interruption) Error() string {
	return "stopped by signal: " + i.signal.String()
}

// cleanupGrace is the time that a cancelled run may take to clean up. If it takes longer, for
// example because it is blocked in a write to a pipe, the process ends anyway. On systems that
// support it, spill files are already unlinked.
const cleanupGrace = 1500 * time.Millisecond

// endingSignals returns the signals that end a run. With EXTSORT_DEBUG set, SIGQUIT is left to Go,
// which prints all stacks.
func endingSignals() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	if os.Getenv("EXTSORT_DEBUG") == "" {
		all = append(all, syscall.SIGQUIT)
	}
	return all
}

// catchSignals returns a context that the signals of endingSignals cancel, with an interruption as
// its cause. A second signal ends the process immediately. Signals that the parent process ignores
// (nohup, background jobs of sh) stay ignored. SIGPIPE is caught and dropped, so that a write to a
// closed pipe returns an error and the run cleans up, instead of dying immediately.
//
// release must be called before the process kills itself with a signal.
func catchSignals(
	parent context.Context,
) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(parent)
	caught := make(chan os.Signal, 1)
	for _, s := range endingSignals() {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-caught:
			cancel(interruption{s})
			select {
			case <-done:
			case again := <-caught:
				os.Exit(dieOf(again))
			case <-time.After(cleanupGrace):
				os.Exit(dieOf(s))
			}
		case <-done:
		}
	}()
	return ctx, func() {
		close(done)
		signal.Stop(caught)
		signal.Stop(broken)
	}
}
