package main

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/extsort/extsort/internal/columnhelper"
	"github.com/extsort/extsort/internal/dist"
	"github.com/extsort/extsort/internal/session"
)

// Exit codes. A run that a signal ends has no exit code, because the process kills itself with that
// signal.
const (
	exitDone     = 0
	exitDisorder = 1 // only if a check found disorder
	exitNotFound = 1 // only if find found nothing
	exitError    = 2
	// exitRetry means that a dist task failed but may succeed on a retry. It is EX_TEMPFAIL of
	// sysexits.h.
	exitRetry = 75
)

// errDisorder is the verdict of a check. The position of the disorder has already been printed.
var errDisorder = errors.New("not in order")

func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	var caught interruption
	damage, isDamage := errors.AsType[*session.OverwriteError](err)
	switch {
	case errors.As(context.Cause(ctx), &caught):
		if isDamage {
			printError(stderr, damage)
		} else if os.Getpid() == 1 { // otherwise the parent reports the signal
			printError(stderr, caught)
		}
		return dieOf(caught.signal)
	case err == nil:
		return exitDone
	case errors.Is(err, errDisorder):
		return exitDisorder
	case errors.Is(err, errNotFound):
		return exitNotFound
	case errors.Is(err, syscall.EPIPE) && !isDamage:
		return dieOf(syscall.SIGPIPE)
	}
	if ended, ok := errors.AsType[*columnhelper.ExitError](err); ok {
		return ended.Status
	}
	printError(stderr, err)
	if panicked, ok := errors.AsType[*session.PanicError](err); ok {
		_, _ = stderr.Write(panicked.Stack) // for a bug report
	}
	if _, ok := errors.AsType[*dist.RetryError](err); ok {
		return exitRetry
	}
	return exitError
}
