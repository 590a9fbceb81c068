package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/internal/dist"
	"github.com/extsort/extsort/internal/session"
)

const distLong = `Sort on many machines that share a file system. Your scheduler runs the tasks:
each task is one command that you can repeat; it skips finished work. For the
flags of a verb, see extsort dist VERB --help.

Usage:
  extsort dist plan [flags] DIR FILE ...   plan the sort of FILEs in DIR
  extsort dist run --part K/N DIR          sort slices of the input into runs
  extsort dist cut --part K/N DIR          find where parts begin in the runs
  extsort dist merge --part K/N DIR        merge parts of the output
  extsort dist verify DIR                  verify and complete the output
  extsort dist status DIR                  show the progress
  extsort dist script SCHEDULER DIR        print a script with all tasks
  extsort dist cat DIR                     write all parts, one after another

Exit status: 0 success, 75 a temporary error (run it again), 2 any other error.`

// distFlags contains the values of flags that only the verbs of dist have.
type distFlags struct {
	request    dist.Request // without the record and the data around the records
	singleFile string
	simulation simulation
	resources  dist.TaskResources // for script
	part       string             // for run, cut, merge and verify
	keepRuns   bool
	readAll    bool
	json       bool
	output     string // for cat
}

func distCommand(a *app) *cobra.Command {
	cmd := verb(
		"dist VERB [flags] DIR",
		"",
		`  extsort dist plan -t u64 -o sorted /shared/plan /shared/keys-*.bin
  extsort dist script slurm /shared/plan > sort.sh && bash sort.sh
  extsort dist status /shared/plan`,
		&flagValues{},
		nil,
	)
	cmd.Long = distLong
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		verbs := inWords(verbNames(cmd.Commands()))
		if len(args) == 0 {
			return fmt.Errorf("dist: name a command: %s", verbs)
		}
		return fmt.Errorf("dist: unknown command %q: use %s", args[0], verbs)
	}
	cmd.AddCommand(distPlan(a), distTask(
		a,
		"run",
		"Sort slices of the inputs, each into a run.",
		(*dist.Worker).Run,
	),
		distTask(a, "cut", "Find where each part begins in each run, using the indexes of the runs.",
			(*dist.Worker).Cut),
		distTask(
			a,
			"merge",
			"Merge all runs into parts of the output.",
			(*dist.Worker).Merge,
		),
		distVerify(a), distStatus(a), distScript(a), distCat(a))
	return cmd
}

// distVerb returns a verb below dist. use lists the operands. If it ends in "...", more operands
// may follow.
func distVerb(use, about, example string, v *flagValues,
	run func(ctx context.Context, args []string) error) *cobra.Command {
	cmd := verb("dist "+use, about, example, v, nil)
	cmd.Use = use
	cmd.Short = shortOf(about)
	operands := strings.Fields(strings.ReplaceAll(use, "[flags] ", ""))[1:]
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) < len(operands) && operands[len(operands)-1] != "..." ||
			len(args) == 0 {
			return fmt.Errorf(
				"dist %s: want %s", cmd.Name(), strings.Join(operands, " "),
			)
		}
		if len(args) > len(operands) && operands[len(operands)-1] != "..." {
			return fmt.Errorf(
				"dist %s: unexpected operand %q",
				cmd.Name(),
				args[len(operands)],
			)
		}
		return run(cmd.Context(), args)
	}
	return cmd
}

// shortOf returns the first clause of a text in the form of a verb's short description.
func shortOf(about string) string {
	clause := strings.ReplaceAll(about, "\n", " ")
	clause, _, _ = strings.Cut(clause, ". ")
	clause, _, _ = strings.Cut(clause, ": ")
	clause = strings.TrimSuffix(clause, ".")
	return strings.ToLower(clause[:1]) + clause[1:]
}

// withPlan returns a function that reads the plan in DIR, the last operand, and runs a verb with
// it.
func withPlan(a *app, opt *session.Options,
	do func(ctx context.Context, w *dist.Worker, args []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		p, err := dist.ReadPlan(args[len(args)-1])
		if err != nil {
			return err
		}
		tell := func(line string) { fmt.Fprintln(a.notes, "extsort: "+line) }
		return do(ctx, &dist.Worker{
			Plan:    p,
			Options: *opt,
			Tell:    tell,
		}, args)
	}
}
