package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// interruption is why a run was cancelled: a signal came.
type interruption struct{ signal os.Signal }

func (i interruption) Error() string { return "stopped by signal: " + i.signal.String() }

// cleanupGrace is how long a cancelled run may take to clean up. A run that hangs longer, for example in a write
// to a pipe that nobody reads, is ended all the same: what it has spilled is unlinked already where the system
// allows that.
const cleanupGrace = 1500 * time.Millisecond

// ending are the signals that end a run. SIGQUIT is left to Go, which prints all stacks, where EXTSORT_DEBUG is set.
func ending() []os.Signal {
	all := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	if os.Getenv("EXTSORT_DEBUG") == "" {
		all = append(all, syscall.SIGQUIT)
	}
	return all
}

// catchSignals makes a context that the signals of ending cancel, with an interruption as its cause. A
// second signal ends the process at once. Signals that the parent has us ignore (nohup, background jobs of sh)
// stay ignored. SIGPIPE is caught as well, and dropped, so that a write to a closed pipe is an error that is
// cleaned up after and not sudden death.
//
// release must be called before the process dies of a signal.
func catchSignals(parent context.Context) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(parent)
	caught := make(chan os.Signal, 1)
	for _, s := range ending() {
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
