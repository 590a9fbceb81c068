// Command soak runs random sorts with the real command for as long as it is told to, and holds each against an oracle
// that shares no code with it: its own keys, its own stable sort, its own headers.
//
//	go run ./internal/soak -t 1h
//
// A run has a seed that decides everything: what a record is, how many there are, how their keys are distributed, how
// they come in and go out, memory, workers, strategy, device, and when a signal comes. Its line in the log names it,
// and -seed N is that run again. After each, also after one that was killed, the output has to be whole, the old or
// the new one, no input may have changed, and nothing may be left in any folder. A folder in which something is wrong
// stays, with the inputs and the command line. Exit status: 0 all is well, 1 something was wrong, 2 soak cannot run.
//
//	main.go, machine.go   the loop, its log and its sum
//	scenario.go         what a seed decides; layout.go, records.go: records
//	oracle.go, key.go, container.go, compress.go, expect.go   what has to come out
//	command.go, trial.go   runs the command, and looks at what came of it
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
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the flags.
type options struct {
	time    time.Duration
	seed    uint64 // 0: one after another
	command string
	folder  string
	most    int // bytes of the largest input
	kills   int // at least so many, even if time is over
}

// parse reads the flags.
func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.DurationVar(&o.time, "t", time.Minute, "run for so long")
	flags.Uint64Var(&o.seed, "seed", 0, "run only the scenario of this seed")
	flags.StringVar(&o.command, "extsort", "", "the command to be tested; it is built from this module otherwise")
	flags.StringVar(&o.folder, "dir", os.TempDir(), "the folder to work in")
	flags.IntVar(&o.most, "most", 128, "the most MiB of records")
	flags.IntVar(&o.kills, "kills", 0, "go on until so many runs were killed")
	err := flags.Parse(args)
	o.most <<= 20
	return o, err
}

// run is the whole program; its result is the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opt, err := parse(args, stderr)
	if err != nil {
		return 2
	}
	wrong, err := soak(ctx, opt, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "soak:", err)
		return 2
	}
	if wrong > 0 {
		return 1
	}
	return 0
}

// soak runs scenarios, and gives the number of those in which something was wrong.
func soak(ctx context.Context, opt options, log io.Writer) (wrong int, err error) {
	if opt.folder, err = filepath.Abs(opt.folder); err != nil { // the command has a working folder of its own
		return 0, err
	}
	folder, err := os.MkdirTemp(opt.folder, "soak-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(folder) // unless something is kept in it
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
	for ctx.Err() == nil && (time.Since(begin) < opt.time || total.killed < opt.kills) {
		seed := opt.seed
		if seed == 0 {
			seed = uint64(rand.Uint32())
		}
		t, err := try(ctx, newScenario(seed, m, opt.most), opt.command, folder, log)
		if err != nil && ctx.Err() == nil {
			wrong++
		}
		total.add(t)
		if opt.seed != 0 {
			break
		}
	}
	fmt.Fprintf(log, "%d runs (%d refused, %d killed, %d terminated), %d MiB in %v: %d wrong\n", total.runs,
		total.refused, total.killed, total.terminated, total.bytes>>20, time.Since(begin).Round(time.Second), wrong)
	return wrong, nil
}

// try carries a scenario out and logs it; its folder stays where something is wrong.
func try(ctx context.Context, s *scenario, command, folder string, log io.Writer) (tally, error) {
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
	fmt.Fprintf(log, "seed %d: %v: %v: %s\n", s.seed, s, time.Since(begin).Round(time.Millisecond), verdict)
	if err == nil || ctx.Err() != nil {
		os.RemoveAll(folder)
	}
	return t.tally, err
}
