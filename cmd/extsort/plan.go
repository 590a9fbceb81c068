package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/internal/session"
)

func (a *app) planCommand() *cobra.Command {
	v := &flagValues{}
	f := &planFlags{sortFlags: &v.sortFlags, assumed: &v.gen}
	return verb("plan [flags] [FILE ...]",
		"Show how a sort with these flags would run and what it would need. Nothing is\n"+
			"sorted. Without -o, the plan assumes an output file next to the input.\n"+
			"--explain adds the details and the other strategies.",
		"  extsort plan -t u64 -S 1G keys.bin\n  extsort plan -R 100 -k 0:bytes10 --strategy merge -o out in\n"+
			"  extsort plan -t u64 --size 500G",
		v, func(cmd *cobra.Command, files []string) error {
			return a.plan(cmd, f, files)
		})
}

// planInputFlags defines flags that describe an input that does not exist yet.
func planInputFlags(g group, v *flagValues) {
	g.add(amount(&v.gen.records, "COUNT", parseCount), "records,n",
		"plan for COUNT records with random keys, without a file; with FILE, read only the first COUNT records of "+
			"each input, as in a sort")
	g.add(amount(&v.gen.bytes, "SIZE", parseByteLimit), "size",
		"plan for SIZE bytes of records with random keys, without a file").notWith("-n")
}

// planExplainFlag defines --explain for a plan, which has no measured times.
func planExplainFlag(g group, v *flagValues) {
	g.bool(
		&v.report.explain,
		"explain",
		"also show the stages, the rates and the other strategies",
	)
}

// planFlags contains the flags of the sort, and the flags that describe an input that does not
// exist yet.
type planFlags struct {
	*sortFlags
	assumed *genFlags
}

// plan returns the plan for the inputs or, without inputs, for the number of records that --size
// or -n gives.
func (f *planFlags) plan(
	ctx context.Context, opt session.Options,
) (*session.SortPlan, error) {
	if len(opt.Inputs) > 0 && f.assumed.bytes == 0 {
		opt.Records = f.assumed.records
		f.assumed.records = 0
	}
	if f.assumed.records+f.assumed.bytes == 0 {
		return session.Plan(ctx, opt)
	}
	if len(opt.Inputs) > 0 {
		return nil, fmt.Errorf(
			"plan: --size is for planning without a file: leave out --size or %s",
			opt.Inputs[0],
		)
	}
	var err error
	if f.assumed.record, err = withFieldKeys(opt.Record); err != nil {
		return nil, err
	}
	_, records, err := f.assumed.headerAndRecords()
	if err != nil {
		return nil, err
	}
	return session.PlanFor(ctx, opt, records)
}

// assumedOutput returns the assumed output of a sort without -o: most users who plan a sort want
// a file.
func assumedOutput(files []string) string {
	if len(files) == 0 || files[0] == "-" || strings.Contains(files[0], "://") {
		return "sorted"
	}
	return files[0] + ".sorted"
}

// checkOutputDirectory returns an error if an output file cannot be created because its directory does not exist.
func checkOutputDirectory(output string) error {
	if strings.Contains(output, "://") {
		return nil
	}
	dir := filepath.Dir(output)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("plan: output %s: its directory %s does not exist: create it first", output, dir)
	}
	return nil
}

func (a *app) plan(cmd *cobra.Command, f *planFlags, files []string) error {
	ctx := cmd.Context()
	files, err := f.inputNames(files, a.stdin)
	if err != nil {
		return err
	}
	f.guessFormat(files)
	if err := errors.Join(f.contradictions(files)...); err != nil {
		return err
	}
	if err := checkOutputDirectory(f.opt.Output); err != nil {
		return err
	}
	assumed := f.opt.Output == ""
	if assumed {
		f.opt.Output = assumedOutput(files)
	}
	if err := f.report.open(ctx, f.places(a, files)); err != nil {
		return err
	}
	defer f.report.side.discard()
	p, err := f.plan(ctx, f.options(a, files))
	if err != nil {
		return countedFrom(err, f.opt.SkipBytes)
	}
	if file, ok := f.report.json(); file != "" {
		return f.report.side.write(ctx, func(w io.Writer) error {
			return writeObject(w, p, nil)
		})
	} else if ok {
		return writeObject(a.out, p, nil)
	}
	if c := p.Checkpoint; c != nil && c.Complete {
		fmt.Fprintf(
			a.out,
			"the output is complete: run the sort once more to remove %s\n",
			c.Folder,
		)
		return nil
	}
	command, err := f.command(cmd.Flags(), a.args[1:], files, assumed)
	if err != nil {
		return err
	}
	writePlan(a.out, p, f, planContext{
		assumedOutput: assumed,
		pipe:          len(f.pipes(a, files)) > 0,
		command:       command,
	})
	return nil
}

// pipes returns the inputs that are pipes. A plan does not read them, because the bytes would be
// missing in the sort.
func (f *planFlags) pipes(a *app, files []string) []string {
	if f.assumed.records+f.assumed.bytes > 0 {
		return nil
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		source := input.Source{Name: name}
		return !source.IsConsumed(a.stdin)
	})
}
