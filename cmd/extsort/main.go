// Command extsort sorts files of fixed-size binary records, which may be larger than memory. It
// uses a GPU if there is one.
//
// It is a thin layer: it converts flags to session.Options, shows progress and reports, and
// converts the result to an exit status. Other packages do all work on records.
//
//	main.go       run, the exit codes
//	commands.go   the tree of commands; distinguishes verbs from files
//	flag_table.go, flag_definition.go, values.go   the flags of each verb, how flags are defined, their values
//	flags.go, flags_*.go   the flags of a sort: its result, the records, resources, reports, operations
//	flag_commands.go       errors and completions of flags
//	option_names.go       the flags that messages of the library show instead of options
//	sort.go …     one file for each command
//	record_inputs.go, printer.go   reading records and writing them as text, for print
//	help.go, man.go, version.go   help, the manual pages and the version
//	did_you_mean.go       suggestions for mistyped flags, verbs and types
//	progress.go, report.go   the progress bar and the report of a sort
//	signals*.go   signals
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

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

// processors is the default number of workers.
var processors = runtime.GOMAXPROCS(0)

func main() {
	time.AfterFunc(settled, adjustRuntime)
	os.Exit(
		run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr),
	)
}

// settled is the age of the process at which it changes settings of the Go runtime. Each change stops
// all threads, which would be a large part of the time of a small sort.
const settled = 10 * time.Millisecond

func adjustRuntime() {
	// A goroutine in a system call keeps its place among GOMAXPROCS until the runtime notices that
	// the call is slow, which can take 10 ms. When workers wait for a pipe, processors would be
	// idle for that time again and again.
	runtime.GOMAXPROCS(2 * processors)
	if os.Getenv("GOGC") == "" {
		// Large buffers are outside Go's heap, so collecting the small heap more often is cheap.
		debug.SetGCPercent(50)
	}
}

func run(
	ctx context.Context,
	args []string,
	stdin io.Reader,
	stdout, stderr io.Writer,
) int {
	ctx, release := catchSignals(ctx)
	a := &app{
		stdin:  stdin,
		stdout: stdout,
		stderr: stderr,
	}
	stop := printProgressOnSignal(a)
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

// printError prints an error as one line, which wraps at the width of a terminal like the help.
func printError(w io.Writer, err error) {
	text := "extsort: " + errorLine(err)
	if isTerminal(w) {
		text = wrapText(text, cmp.Or(terminalColumns(w), 80))
	}
	fmt.Fprintln(w, text)
}

// wrapText breaks a text at spaces into lines of at most the given number of columns. A longer
// word gets its own line.
func wrapText(text string, columns int) string {
	var lines []string
	line := ""
	for i, word := range strings.Split(text, " ") {
		if i > 0 &&
			utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			lines = append(lines, line)
			line = word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// errorLine returns an error as one line. Several errors that were joined are separated by
// semicolons.
func errorLine(err error) string {
	all := separate(err)
	var lines []string
	for _, text := range all[:min(len(all), maxErrors)] {
		lines = append(lines, printable(shortened(text)))
	}
	more := len(all) - len(lines)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more errors", more))
	}
	return strings.Join(lines, "; ")
}

// A line contains at most maxErrors errors, each shortened to maxErrorRunes characters.
const maxErrors, maxErrorRunes = 8, 500

// separate returns the messages of an error that may consist of several. A line break that does
// not separate errors is part of a file name.
func separate(err error) []string {
	text := err.Error()
	if !isJoined(err) {
		return []string{text}
	}
	var all []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// isJoined reports whether an error wraps several.
func isJoined(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		return len(all) > 1 || len(all) == 1 && isJoined(all[0])
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		return inner != nil && isJoined(inner)
	}
	return false
}

// shortened cuts the middle out of a long text. Such a text should not occur, except with a long
// file name.
func shortened(text string) string {
	runes := []rune(text)
	if len(runes) <= maxErrorRunes ||
		strings.Contains(text, string(filepath.Separator)) {
		return text
	}
	half := maxErrorRunes / 2
	return string(runes[:half]) + " … " + string(runes[len(runes)-half:])
}

// printable escapes control characters and invalid UTF-8, for example in file names, so that they
// do not reach a terminal.
func printable(text string) string {
	isPlain := func(r rune) bool {
		return unicode.IsPrint(r) && r != utf8.RuneError
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return !isPlain(r) }) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "\\x%02x", text[i])
		case isPlain(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
