// Command extsort sorts large files of fixed-size binary records, out of core, on a GPU when there is one.
//
// It is thin: it turns flags into extsort.Options, shows progress and reports, and turns what came of it into an
// exit status. Everything that touches a record happens in the packages below.
//
//	main.go       run, the exit codes
//	commands.go   the tree of commands and how a verb is told from a file
//	flags.go, values.go   the flags and what they mean
//	sort.go …     one file for each command
//	help.go, man.go, guess.go, version.go   what helps whoever types: help, the manual page, "did you mean?"
//	progress.go, report.go   what is shown while a sort runs, and after it
//	signals*.go   interruption, and what else is asked of the system
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/extsort/extsort/internal/dist"
)

// Exit codes. A run that a signal ended has none: it dies of that signal.
const (
	exitDone     = 0
	exitDisorder = 1 // only: a check found disorder
	exitError    = 2
	exitRetry    = 75 // a task of dist that is worth another try; EX_TEMPFAIL of sysexits.h
)

// errDisorder is a check's verdict; the line that says where has been printed when it is returned.
var errDisorder = errors.New("not in order")

// processors is how many workers there are unless --parallel says otherwise.
var processors = runtime.GOMAXPROCS(0)

func main() {
	// A goroutine in a system call keeps its place among GOMAXPROCS until the runtime notices that it takes long, which
	// may be 10 ms. With a worker waiting for a pipe, a processor would stand idle that long again and again.
	runtime.GOMAXPROCS(2 * processors)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // what is large lies outside of Go's heap: a low limit is worth a few collections
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, release := catchSignals(ctx)
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	stop := tellWhenAsked(a)
	err := a.execute(ctx, args)
	stop()
	release()
	code := exitCode(ctx, err, stderr)
	if a.afterError != nil && a.afterError() != nil {
		return exitError
	}
	return code
}

func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	var caught interruption
	switch {
	case errors.As(context.Cause(ctx), &caught):
		if os.Getpid() == 1 { // else the parent says so
			printError(stderr, caught)
		}
		return dieOf(caught.signal)
	case err == nil:
		return exitDone
	case errors.Is(err, errDisorder):
		return exitDisorder
	case errors.Is(err, syscall.EPIPE):
		return dieOf(syscall.SIGPIPE)
	}
	printError(stderr, err)
	if _, ok := errors.AsType[*dist.RetryError](err); ok {
		return exitRetry
	}
	return exitError
}

func printError(w io.Writer, err error) { fmt.Fprintf(w, "extsort: %s\n", errorLine(err)) }

// errorLine is an error on one line. Several faults that were joined are set side by side.
func errorLine(err error) string {
	lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' })
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "; ")
}
