// Command extsort sorts files of fixed-size binary records, which may be larger than memory. It
// uses a GPU if there is one.
//
// It is a thin layer: it converts flags to session.Options, shows progress and reports, and
// converts the result to an exit status. Other packages do all work on records.
//
//	main.go, exit_code.go, error_text.go   run, the exit codes, errors as one line
//	commands.go   the tree of commands; distinguishes verbs from files
//	flag_table.go, flag_definition.go, values.go   the flags of each verb, how flags are defined, their values
//	flags.go, flags_*.go   the flags of a sort: its result, the records, resources, reports, operations
//	flag_commands.go       errors and completions of flags
//	option_names.go       the flags that messages of the library show instead of options
//	sort.go …     one file for each command
//	record_inputs.go, printer.go   reading records and writing them as text, for print
//	help.go, man.go, version.go   help, the manual pages and the version
//	guess_input.go        the format of inputs that no flag describes
//	did_you_mean.go       the most similar word; type_hints.go, unknown_flags.go and mistaken_verbs.go suggest with it
//	type_names.go         names of types in other programs
//	plan*.go, dist*.go    a file for each part of the report, and for each verb below dist
//	progress.go, report.go   the progress bar and the report of a sort
//	signals*.go   signals
package main

import (
	"context"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

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
