// Command soak runs random sorts with the real command for a given time. It compares each output
// with that of an oracle that shares no code with the command: it has its own keys, its own
// stable sort, and its own headers.
//
//	go run ./internal/soak -t 1h
//
// A seed determines everything in a run: the record, the number of records, the distribution of
// keys, inputs, outputs, memory, workers, strategy, device, and the times of signals. The log
// contains the seed of each run, and -seed N repeats it. After each run, even a killed one, the
// output must be complete, either the old or the new one; no input may have changed; and no
// directory may contain other files. If something is wrong, the directory is kept, with the
// inputs and the command line. Exit status: 0 for success, 1 if something was wrong, 2 if soak
// cannot run.
//
//	main.go, machine.go   the loop, its log and its summary
//	scenario.go           the choices of a seed; layout.go, records.go: the records
//	oracle.go, key.go, container.go, compress.go, expect.go   the expected output
//	command.go, trial.go  run the command and check the result
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, release := signal.NotifyContext(
		context.Background(), os.Interrupt, syscall.SIGTERM,
	)
	defer release()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options contains the values of the flags.
type options struct {
	time     time.Duration
	seed     uint64 // 0: increasing seeds
	command  string
	folder   string
	maxBytes int // maximum input size in bytes
	kills    int // minimum number of kills, even if time is over
}

// parse parses the flags.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&o.time, "t", time.Minute, "how long to run")
	flags.Uint64Var(&o.seed, "seed", 0, "run only the scenario with this seed")
	flags.StringVar(
		&o.command,
		"extsort",
		"",
		"the command to test; otherwise it is built from this module",
	)
	flags.StringVar(&o.folder, "dir", os.TempDir(), "the work directory")
	flags.IntVar(&o.maxBytes, "most", 128, "maximum size of the records in MiB")
	flags.IntVar(&o.kills, "kills", 0, "continue until this many runs have been killed")
	err := flags.Parse(args)
	o.maxBytes <<= 20
	return o, err
}

// run runs the program and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opt, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	wrong, err := runScenarios(ctx, opt, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "soak:", err)
		return 2
	}
	if wrong > 0 {
		return 1
	}
	return 0
}

// runScenarios runs scenarios and returns the number of failed ones.
func runScenarios(
	ctx context.Context, opt options, log io.Writer,
) (wrong int, err error) {
	// The command runs in another working directory.
	if opt.folder, err = filepath.Abs(opt.folder); err != nil {
		return 0, err
	}
	folder, err := os.MkdirTemp(opt.folder, "soak-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(folder) // fails if the directory is not empty
	if opt.command, err = findCommand(opt.command, folder); err != nil {
		return 0, err
	}
	defer os.Remove(filepath.Join(folder, builtName))
	m, err := findMachine(opt.command)
	if err != nil {
		return 0, err
	}
	var total tally
	begin := time.Now()
	for ctx.Err() == nil &&
		(time.Since(begin) < opt.time || total.killed < opt.kills) {
		seed := opt.seed
		if seed == 0 {
			seed = uint64(rand.Uint32())
		}
		t, err := runTrial(
			ctx, newScenario(seed, m, opt.maxBytes), opt.command, folder, log,
		)
		if err != nil && ctx.Err() == nil {
			wrong++
		}
		total.add(t)
		if opt.seed != 0 {
			break
		}
	}
	fmt.Fprintf(
		log,
		"%d runs (%d refused, %d killed, %d terminated), %d MiB in %v: %d wrong\n",
		total.runs,
		total.refused,
		total.killed,
		total.terminated,
		total.bytes>>20,
		time.Since(begin).Round(time.Second),
		wrong,
	)
	return wrong, nil
}

// runTrial runs a scenario and logs it. If something is wrong, it keeps the directory.
func runTrial(
	ctx context.Context, s *scenario, command, folder string, log io.Writer,
) (tally, error) {
	begin := time.Now()
	folder = filepath.Join(folder, fmt.Sprint("seed-", s.seed))
	t, err := newTrial(s, command, folder)
	if err != nil {
		return tally{}, fmt.Errorf("seed %d: %w", s.seed, err)
	}
	err = t.execute(ctx)
	verdict := "ok"
	switch {
	case ctx.Err() != nil:
		verdict = "stopped"
	case err != nil:
		verdict = fmt.Sprintf("WRONG: %v; kept in %s", err, folder)
	case t.tally.refused > 0:
		verdict = "refused: " + t.refusal
	}
	fmt.Fprintf(
		log,
		"seed %d: %v: %v: %s\n",
		s.seed,
		s,
		time.Since(begin).Round(time.Millisecond),
		verdict,
	)
	if err == nil || ctx.Err() != nil {
		os.RemoveAll(folder)
	}
	return t.tally, err
}
