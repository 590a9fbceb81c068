package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}

// An interruption is the signal that cancelled a comparison.
type interruption struct{ signal os.Signal }

func (i interruption) Error() string {
	return "stopped by signal: " + i.signal.String()
}

// errWrong means that extsort itself failed; the report says how.
var errWrong = errors.New("extsort failed: see the report")

// run runs the program and returns its exit status: 0 for success, 1 if extsort failed or gave a
// wrong output, 2 for any other error, and 128 + n after signal n.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, release := catchSignals(ctx)
	defer release()
	err := compare(ctx, args, stdout, stderr)
	var stop interruption
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return 0
	case errors.As(context.Cause(ctx), &stop):
		number, ok := stop.signal.(syscall.Signal)
		if ok {
			return 128 + int(number)
		}
	}
	fmt.Fprintln(stderr, "compare:", err)
	if errors.Is(err, errWrong) {
		return 1
	}
	return 2
}

// catchSignals returns a context that the first interrupt or termination signal cancels. A second
// one ends the process.
func catchSignals(
	parent context.Context,
) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(parent)
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-caught:
			signal.Stop(caught)
			cancel(interruption{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(caught)
		cancel(nil)
	}
}

// compare parses the flags and runs the requested comparison.
func compare(
	ctx context.Context, args []string, stdout, stderr io.Writer,
) error {
	s, err := parseSettings(args, stderr)
	if err != nil {
		return err
	}
	if s.table.report {
		return printTable(stdout, s.table.logFile)
	}
	shop, err := openWorkshop(ctx, s, stderr)
	if err != nil {
		return err
	}
	defer shop.close()
	switch {
	case s.table.enabled:
		return shop.makeTable(ctx, stdout)
	case s.table.confined:
		return makeConfined(ctx, shop, stdout)
	}
	return shop.raceAll(ctx, args, stdout)
}

// raceAll races the contenders of each workload, or of each set operation, and reports the results.
func (shop *workshop) raceAll(
	ctx context.Context, args []string, stdout io.Writer,
) error {
	s := shop.settings
	r := report{
		Machine:   shop.machine,
		Versions:  shop.versions(ctx),
		Arguments: args,
		Runs:      s.runs,
	}
	peers, missing := shop.findPeers(ctx)
	r.Missing = missing
	if s.sets {
		sections, err := raceSets(ctx, shop, peers)
		if err != nil {
			return err
		}
		r.Workloads = sections
		return errors.Join(r.publish(stdout, s.jsonFile, s.svgFile), r.verdict())
	}
	for _, w := range s.workloads {
		section, err := shop.race(ctx, w, peers)
		if err != nil {
			return err
		}
		r.Workloads = append(r.Workloads, section)
	}
	return errors.Join(r.publish(stdout, s.jsonFile, s.svgFile), r.verdict())
}
