// Command extsort-columns sorts Parquet and Arrow files, and runs other verbs on them. The command extsort
// starts it if an input is such a file, and passes flags that it has checked. Its messages begin with
// "extsort: ", because users call extsort.
//
// Only the root package of this module is stable: this command may change in any version.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/extsort/extsort/columns"
)

// The exit codes.
const (
	exitNo    = 1 // disorder, or nothing found
	exitError = 2
)

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // the records are outside of Go's heap
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run runs a verb and returns the exit code. If a signal ends it, the process dies of the signal.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	release := catchSignals(cancel)
	err := runVerb(ctx, args, stdout, stderr)
	release()
	var caught caughtSignal
	switch {
	case errors.As(context.Cause(ctx), &caught):
		return dieOf(caught.signal)
	case err == nil:
		return 0
	case errors.Is(err, errNo):
		if text := oneLine(err); text != "" {
			fmt.Fprintln(stderr, "extsort: "+text)
		}
		return exitNo
	case errors.Is(err, syscall.EPIPE):
		return dieOf(syscall.SIGPIPE)
	}
	fmt.Fprintln(stderr, "extsort: "+oneLine(err))
	return exitError
}

// oneLine returns an error as one line, with flags instead of options. Joined errors are separated by
// semicolons.
func oneLine(err error) string {
	return flagNames.Replace(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// flagNames replaces options of package columns by flags.
var flagNames = strings.NewReplacer(
	"Options.KeepKey", "--keep-key", "Options.Verify", "--verify", "Options.Unique", "-u", "Options.Output", "-o",
	"Options.SplitFiles", "--split", "SetOptions.All", "--all", "PrintOptions.Columns", "--columns",
	"PrintOptions.Form", "--as",
)

// A caughtSignal is the cause of a cancelled context.
type caughtSignal struct{ signal os.Signal }

func (c caughtSignal) Error() string { return c.signal.String() }

// cleanupGrace is the time that a cancelled sort may take to clean up. If it takes longer, for example
// because it waits for input from a pipe, the process ends anyway. Spill files are unlinked already.
const cleanupGrace = 1500 * time.Millisecond

// catchSignals cancels the sort at the first signal that should end it. A second one ends the process
// immediately.
func catchSignals(cancel context.CancelCauseFunc) (release func()) {
	caught := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	broken := make(chan os.Signal, 1) // a write to a broken pipe returns EPIPE
	signal.Notify(broken, syscall.SIGPIPE)
	done := make(chan struct{})
	go watch(caught, done, cancel)
	return func() {
		close(done)
		signal.Stop(caught)
		signal.Stop(broken)
	}
}

// watch cancels the sort at a signal, and then ends the process if the sort doesn't end.
func watch(caught <-chan os.Signal, done <-chan struct{}, cancel context.CancelCauseFunc) {
	select {
	case s := <-caught:
		cancel(caughtSignal{s})
		select {
		case <-done:
		case again := <-caught:
			os.Exit(dieOf(again))
		case <-time.After(cleanupGrace):
			os.Exit(dieOf(s))
		}
	case <-done:
	}
}

// isFunction matches computed keys.
var isFunction = regexp.MustCompile(`^(hilbert|morton|bit_reverse|xxh64)\(.*\)$`)

// parseKeys parses keys of the form COLUMN[:desc].
func parseKeys(texts []string, reverse bool) (keys []columns.Key) {
	for _, text := range texts {
		name, desc := strings.CutSuffix(text, ":desc")
		if !desc {
			name = strings.TrimSuffix(name, ":asc")
		}
		key := columns.Key{Column: name, Desc: desc != reverse}
		if isFunction.MatchString(name) {
			key.Compute = name
			key.Column = ""
		}
		keys = append(keys, key)
	}
	return keys
}
