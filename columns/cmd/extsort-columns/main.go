// Command extsort-columns sorts Parquet and Arrow files. The command extsort starts it if an input
// is such a file, and passes flags that it has checked. Its messages begin with "extsort: ", because
// users call extsort.
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
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/columns"
)

// exitError is the exit code after an error.
const exitError = 2

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // the records are outside of Go's heap
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run sorts and returns the exit code. If a signal ends the sort, the process dies of it.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	release := catchSignals(cancel)
	err := sort(ctx, args, stdout)
	release()
	var caught caughtSignal
	switch {
	case errors.As(context.Cause(ctx), &caught):
		return dieOf(caught.signal)
	case err == nil:
		return 0
	case errors.Is(err, syscall.EPIPE):
		return dieOf(syscall.SIGPIPE)
	}
	fmt.Fprintln(stderr, "extsort: "+oneLine(err))
	return exitError
}

// oneLine returns an error as one line. Joined errors are separated by semicolons.
func oneLine(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// A caughtSignal is the cause of a cancelled context.
type caughtSignal struct{ signal os.Signal }

func (c caughtSignal) Error() string { return c.signal.String() }

// catchSignals cancels the sort at the first signal that should end it.
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
	go func() {
		select {
		case s := <-caught:
			cancel(caughtSignal{s})
		case <-done:
		}
	}()
	return func() {
		close(done)
		signal.Stop(caught)
		signal.Stop(broken)
	}
}

func sort(ctx context.Context, args []string, stdout io.Writer) error {
	opt, err := parse(args)
	if err != nil {
		return err
	}
	opt.Stdout = stdout
	_, err = columns.Sort(ctx, opt)
	return err
}

// parse reads the command line.
func parse(args []string) (opt columns.Options, err error) {
	flags := pflag.NewFlagSet("extsort-columns", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	keys := flags.StringArrayP("key", "k", nil, "COLUMN[:desc]")
	reverse := flags.BoolP("reverse", "r", false, "reverse the order of all keys")
	nulls := flags.String("nulls", "last", "first or last")
	nan := flags.String("nan", "total", "first, last or total")
	floats := flags.String("float", "total", "total or numeric")
	keep := flags.String("keep", "first", "first or last")
	strategy := flags.String("strategy", "", "")
	flags.BoolVarP(&opt.Unique, "unique", "u", false, "write one row for each key")
	flags.Int64Var(&opt.Limit, "limit", 0, "write the first N rows; 0: all, negative: none")
	flags.StringVarP(&opt.Output, "output", "o", "", "")
	flags.StringVar(&opt.Compression, "compress", "", strings.Join(columns.Codecs(), ", "))
	flags.Int64VarP(&opt.Memory, "memory", "S", 0, "bytes")
	flags.StringArrayVarP(&opt.TempDirs, "temp-dir", "T", nil, "")
	flags.IntVar(&opt.Workers, "parallel", 0, "")
	flags.BoolVar(&opt.Verify, "verify", false, "")
	if err := flags.Parse(args); err != nil {
		return opt, err
	}
	opt.Inputs = flags.Args()
	opt.Keys = parseKeys(*keys, *reverse)
	opt.NullsFirst = *nulls == "first"
	opt.NumericFloats = *floats == "numeric"
	opt.Strategy = extsort.Strategy(*strategy)
	if *nan != "total" {
		opt.NaN = extsort.NaNOrder(*nan)
	}
	opt.KeepLast = *keep == "last"
	return opt, nil
}

// parseKeys parses keys of the form COLUMN[:desc].
func parseKeys(texts []string, reverse bool) (keys []columns.Key) {
	for _, text := range texts {
		name, desc := strings.CutSuffix(text, ":desc")
		if !desc {
			name = strings.TrimSuffix(name, ":asc")
		}
		keys = append(keys, columns.Key{Column: name, Desc: desc != reverse})
	}
	return keys
}
