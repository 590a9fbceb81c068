package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/session"
)

// sortFlags contains the flags of a sort. The verb plan shares them.
type sortFlags struct {
	opt    session.Options // without the inputs and the streams
	report reportFlags
	mode   modeFlags
	nulls  string // of columns: first or last

	names nameList
	flags *pflag.FlagSet // to find conflicts between flags
}

func (a *app) sortCommand() *cobra.Command {
	v := &flagValues{}
	f := &v.sortFlags
	cmd := &cobra.Command{
		Use:               "extsort",
		Example:           rootExample,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	cmd.SetHelpCommand(&cobra.Command{
		Use:    "no-help",
		Hidden: true,
	}) // extsort has its own verb help
	addGroups(cmd, v.groups("sort")...)
	showHelp := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = rootLong(a.verbs())
		showHelp(cmd, args)
	})
	f.flags = cmd.Flags()
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if f.mode.version {
			printVersion(a.out)
			return nil
		}
		if len(files) == 0 && cmd.Flags().NFlag() == 0 && isTerminal(a.stdin) {
			fmt.Fprint(a.out, firstLines)
			return nil
		}
		return f.report.writeJSON(
			cmd.Context(), a, a.sortCheckOrMerge(cmd.Context(), f, files),
		)
	}
	return cmd
}

func (a *app) sortCheckOrMerge(
	ctx context.Context, f *sortFlags, files []string,
) error {
	files, err := f.inputNames(files, a.stdin)
	if err != nil {
		return err
	}
	if kind := f.kindOfColumns(files); kind != "" {
		return sortColumns(a, f, kind, files)
	}
	if err := f.report.open(ctx, f.places(a, files)); err != nil {
		return err
	}
	f.guessFormat(files)
	contradictions := errors.Join(
		append(f.contradictions(files), conflicts(f.flags)...)...,
	)
	if err := cmp.Or(f.mistakenVerb(files), contradictions); err != nil {
		return err
	}
	if f.mode.join {
		return f.joinSummaries(ctx, a, files)
	}
	if err := a.checkInput(files); err != nil {
		return err
	}
	opt := f.options(a, files)
	switch {
	case f.mode.isCheck():
		return a.check(ctx, f, opt)
	case f.mode.merge:
		return a.runAndReport(ctx, f, opt, func(ctx context.Context, opt session.Options) (*session.Report, error) {
			return session.Merge(ctx, fields.Shared[session.MergeOptions](opt))
		})
	}
	return a.runAndReport(ctx, f, opt, session.Sort)
}

// places returns the files that a run reads or writes, without the report.
func (f *sortFlags) places(a *app, files []string) []place {
	var all []place
	for _, name := range files {
		all = append(all, inputPlace(a, name))
	}
	if len(files) == 0 {
		all = append(all, inputPlace(a, "-"))
	}
	if f.names.file != "" {
		all = append(all, place{role: "the list of inputs", name: f.names.file})
	}
	if f.opt.Checkpoint != "" {
		all = append(all, place{
			role:     "in the directory of --checkpoint",
			name:     f.opt.Checkpoint,
			isFolder: true,
		})
	}
	switch split := f.opt.SplitFiles > 0 || f.opt.SplitBytes > 0; {
	case f.mode.isCheck():
	case f.opt.Output == "" || isStandard(f.opt.Output, 1):
		all = append(all, place{role: "the output", stream: a.stdout})
	default:
		all = append(all, place{
			role:  "the output",
			name:  f.opt.Output,
			isSet: split,
		})
	}
	return all
}

func (f *sortFlags) options(a *app, files []string) session.Options {
	opt := f.opt
	opt.Inputs = files
	opt.Stdin = a.stdin
	opt.Stdout = a.stdout
	opt.Warn = a.warn
	if f.report.quiet {
		opt.Warn = nil
	}
	f.checkMemory(opt.Warn)
	return opt
}

// warn prints a warning.
func (a *app) warn(message string) {
	fmt.Fprintf(a.stderr, "extsort: warning: %s\n", printable(message))
}

func (a *app) runAndReport(ctx context.Context, f *sortFlags, opt session.Options,
	run func(context.Context, session.Options) (*session.Report, error)) error {
	isArray := opt.Argsort == "" && opt.Record.Container().IsArray
	doubt := misnamed(opt.Output, opt.Compress, isArray)
	if doubt != "" &&
		opt.Warn != nil {
		opt.Warn(doubt)
	}
	inputs := opt.Inputs
	if len(inputs) == 0 {
		inputs = []string{"-"}
	}
	if err := a.checkOutput(opt.Output, inputs...); err != nil {
		return err
	}
	if f.names.file != "" && filename.SameFile(f.names.file, opt.Output) {
		return fmt.Errorf(
			"-o %s: is also the list of %s: name another output",
			opt.Output,
			f.names.flag,
		)
	}
	progress := a.startBars(f.report.progressMode())
	opt.Progress = progress
	opt.MeasureMemory = f.report.stats != ""
	report, err := run(ctx, opt)
	err = countedFrom(err, opt.SkipBytes)
	progress.Close()
	f.report.setResult(report)
	_, ok := errors.AsType[*session.DisorderError](err)
	if ok {
		return fmt.Errorf("%w (leave out -m to sort it)", err)
	}
	if err == nil {
		progress.Done(f.pastTense(), report.BytesRead, report.Seconds)
		f.report.writeText(a, report)
	}
	return err
}

// pastTense returns the verb for the last line of a run, in the past tense.
func (f *sortFlags) pastTense() string {
	switch {
	case f.mode.merge:
		return "merged"
	case f.opt.Shuffle:
		return "shuffled"
	}
	return "sorted"
}
