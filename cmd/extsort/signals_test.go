package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/extsort/extsort/internal/session"
)

// harmless is a signal that no system delivers.
type harmless struct{}

func (harmless) Signal() {}

func (harmless) String() string { return "harmless" }

// TestTerminatedWhileOverwriting checks the message of a run that has begun to overwrite its input,
// for each cause of its end. The line appears in addition to the status that reports a signal.
func TestTerminatedWhileOverwriting(t *testing.T) {
	ended := interruption{harmless{}}
	for name, c := range map[string]struct {
		signal error // the cause of the cancellation, if it is not nil
		err    error
		line   string // "": none
	}{
		"signal":                   {ended, ended, ""},
		"signal while overwriting": {ended, &session.OverwriteError{File: "in", Err: ended}, "is now incomplete"},
		"error while overwriting":  {nil, &session.OverwriteError{File: "in", Err: syscall.EIO}, "is now incomplete"},
		"pipe while overwriting":   {nil, &session.OverwriteError{File: "in", Err: syscall.EPIPE}, "is now incomplete"},
		"two errors": {ended, errors.Join(
			&session.OverwriteError{File: "in", Err: ended}, syscall.EIO), "is now incomplete"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.signal != nil {
			cancel(c.signal)
		}
		var said bytes.Buffer
		code := exitCode(ctx, c.err, &said)
		cancel(nil)
		lines := strings.Count(said.String(), "\n")
		if code != exitError || !strings.Contains(said.String(), c.line) || lines != min(len(c.line), 1) {
			t.Errorf("%s: status %d and %q, want a line with %q", name, code, said.String(), c.line)
		}
	}
}
