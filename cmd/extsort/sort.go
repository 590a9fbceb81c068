package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/human"
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

func inputPlace(a *app, name string) place {
	p := place{role: "an input", name: name}
	if isStandard(name, 0) {
		p.stream = a.stdin
	}
	return p
}

// contradictions returns errors in a command line, other than conflicts between two flags.
func (f *sortFlags) contradictions(files []string) (faults []error) {
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	if f.mode.isCheck() {
		fault(f.mode.check == "diagnose-first" && f.mode.checkQuiet,
			"-c and -C cannot be combined: report or stay silent")
		fault(f.mode.merge, "-c and -m cannot be combined: check or merge")
		if len(files) > 1 && !f.mode.join {
			fault(true, "-c checks one file, and %q is one too many", files[1])
		}
	}
	fault(f.nulls != "", "--nulls is for Parquet and Arrow files: records have no nulls")
	if !f.mode.join {
		faults = append(faults, cmp.Or(f.checkUndescribed(files), f.validateRecord()))
	}
	for _, folder := range f.opt.TempDirs {
		faults = append(faults, checkFolder(folder))
	}
	stdin := slices.Index(files, "-")
	fault(
		stdin >= 0 && slices.Contains(files[stdin+1:], "-"),
		"standard input (-) can be read only once",
	)
	return faults
}

// checkFolder rejects an invalid -T, even for small data that never spills.
func checkFolder(name string) error {
	info, err := os.Stat(name)
	path, ok := errors.AsType[*os.PathError](err)
	if ok {
		return fmt.Errorf("-T %s: %w", name, path.Err)
	}
	if err == nil && !info.IsDir() {
		return fmt.Errorf("-T %s: not a directory", name)
	}
	return err
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

// checkMemory warns if the memory limit exceeds the memory of the machine. The effective limit is
// then the memory of the machine.
func (f *sortFlags) checkMemory(warn func(message string)) {
	const small = 1 << 30 // smaller limits are not worth checking
	if warn == nil || f.opt.MemoryBytes <= small {
		return
	}
	if has, err := session.ParseMemory("100%"); err == nil &&
		has < f.opt.MemoryBytes {
		warn(
			fmt.Sprintf("-S %s exceeds the memory of this machine: the limit is %s", human.Bytes(f.opt.MemoryBytes),
				human.Bytes(has)),
		)
	}
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

func (a *app) startBars(when string) *bars {
	w := a.stderr
	width := barColumns(a.stderr)
	if when == "never" || when == "auto" && width == 0 {
		w = io.Discard
		width = 0
	}
	b := newBars(w, width)
	a.running.Store(b)
	return b
}

// barColumns returns the width of a terminal on which a bar can be drawn. It returns 0 if w is
// not a terminal or cannot move its cursor.
func barColumns(w io.Writer) int {
	if os.Getenv("TERM") == "dumb" {
		return 0
	}
	return terminalColumns(w)
}

func printProgress(a *app) {
	b := cmp.Or(a.running.Load(), &bars{})
	fmt.Fprintf(a.stderr, "extsort: %s\n", progressLine(b.Snapshot()))
}

func (f *reportFlags) progressMode() string {
	if f.quiet {
		return "never"
	}
	return f.progress
}

// setResult stores the report of a run, even of one that failed, so that it can be written at the
// end.
func (f *reportFlags) setResult(r *session.Report) {
	if r == nil {
		return
	}
	shown := struct {
		*session.Report
		session.Detail
	}{r, r.Detail}
	if !f.explain {
		shown.Plan = nil
	}
	f.result = shown
}

// writeText writes the requested reports about a finished run, except for JSON.
func (f *reportFlags) writeText(a *app, r *session.Report) {
	file, isJSON := f.json()
	if f.explain && (!isJSON || file != "") {
		writeExplain(a.notes, r)
	}
	if f.stats == "text" {
		writeStats(a.notes, r)
	}
}

func (a *app) check(
	ctx context.Context, f *sortFlags, all session.Options,
) error {
	opt := fields.Shared[session.CheckOptions](all)
	if len(all.Inputs) > 0 {
		opt.Input.Name = all.Inputs[0]
	}
	if f.mode.isQuiet() {
		f.report.progress = "never"
	}
	progress := a.startBars(f.report.progressMode())
	opt.Progress = progress
	opt.Brief = f.report.stats == ""
	report, err := session.Check(ctx, opt)
	err = countedFrom(err, opt.SkipBytes)
	read := progress.Snapshot()
	progress.Close()
	if err == nil {
		progress.Done("checked", read.Done, read.Elapsed.Seconds())
	}
	_, ok := errors.AsType[*session.DisorderError](err)
	if report == nil ||
		err != nil && !ok {
		return err
	}
	return f.verdict(a, report, err)
}

// countedFrom adds a note to an error if the positions in it do not count from the beginning of
// the file.
func countedFrom(err error, skipped int64) error {
	_, disorder := errors.AsType[*session.DisorderError](err)
	_, partial := errors.AsType[*session.PartialRecordError](err)
	if skipped == 0 || !disorder && !partial {
		return err
	}
	return fmt.Errorf("%w (counted from byte %d)", err, skipped)
}

// verdict reports the result of a check. It returns the error for disorder.
func (f *sortFlags) verdict(
	a *app, report *session.CheckReport, disorder error,
) error {
	f.report.result = report
	if disorder != nil && !f.mode.isQuiet() {
		printError(a.stderr, disorder)
	}
	if f.report.stats == "text" {
		writeRows(a.notes, []row{
			{
				"records",
				humanize.Comma(report.Records),
			}, {"duplicates", humanize.Comma(report.Duplicates)},
			{"checksum", report.Checksum},
		})
	}
	if disorder != nil {
		return errDisorder
	}
	return nil
}
