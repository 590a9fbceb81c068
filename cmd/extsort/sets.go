package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/merge/sets"
)

// setFlags contains the flags that only set operations have.
type setFlags struct {
	all   bool
	sort  bool
	right string
	onlyA string
	onlyB string
	both  string
	join  joinFlags
}

func setFlagsOfAll(g group, v *flagValues) {
	g.bool(&v.sets.sort, "sort", "sort each input first, within the memory limit; otherwise the inputs must be sorted")
}

func setAllFlag(g group, v *flagValues) {
	g.bool(&v.sets.all, "all",
		"count occurrences, like ALL in SQL: union writes the sum of the counts, intersect the minimum, subtract the "+
			"difference")
}

func setRightFlag(g group, v *flagValues) {
	g.add(text(&v.sets.right, "FLAGS"), "right",
		"the layout of all FILEs after the first, such as '-R 24 -k 8:u64'; otherwise that of the first")
}

func setPartFlag(g group, v *flagValues) {
	g.add(parsed(&v.opt.Part, "K/N", parsePart), "part",
		"process only part K of N equal parts of the keys, K from 0, so that N processes can "+
			"share the work; otherwise all").
		sets(option.Part).notWith("--right", "--sort")
}

func compareOutputFlags(g group, v *flagValues) {
	g.add(text(&v.sets.onlyA, "FILE"), "only-a", "write the records whose keys are only in A to FILE; otherwise not")
	g.add(text(&v.sets.onlyB, "FILE"), "only-b", "write the records whose keys are only in B to FILE; otherwise not")
	g.add(text(&v.sets.both, "FILE"), "both", "write the records of A whose keys are also in B to FILE; otherwise not")
}

func unionCommand(a *app) *cobra.Command {
	return setCommand(a, sets.Union, "union [flags] FILE ...",
		"Write the union of sorted FILEs: for each key, all records that the first FILE\n"+
			"with this key has. The output is sorted.",
		"  extsort union -t u64 -o all.bin monday.bin tuesday.bin\n"+
			"  extsort union -R 16 -k 0:u64 --all -o log.bin a.bin b.bin")
}

func intersectCommand(a *app) *cobra.Command {
	return setCommand(a, sets.Intersect, "intersect [flags] A B ...",
		"Write the records of sorted file A whose keys are in every other sorted file.",
		"  extsort intersect -t u64 -o both.bin a.bin b.bin\n"+
			"  extsort intersect -R 16 -k 0:u64 --right '-t u64' -o hits.bin log.bin ids.bin")
}

func subtractCommand(a *app) *cobra.Command {
	return setCommand(a, sets.Subtract, "subtract [flags] A B ...",
		"Write the records of sorted file A whose keys are in none of the other sorted\nfiles.",
		"  extsort subtract -R 20 -o new.bin today.bin yesterday.bin\n"+
			"  extsort subtract -t u64 --part 3/8 -o new.3 today.bin yesterday.bin")
}

func compareCommand(a *app) *cobra.Command {
	return setCommand(a, sets.Compare, "compare [flags] A B",
		"Compare the keys of two sorted files. Print how many keys and records are only\n"+
			"in A, only in B, and in both.",
		"  extsort compare -t u64 a.bin b.bin\n"+
			"  extsort compare -R 16 -k 0:u64 --only-a gone.bin --only-b new.bin a.bin b.bin")
}

func setCommand(a *app, operation sets.Operation, use, about, example string) *cobra.Command {
	v := &flagValues{}
	s := &setRun{
		sortFlags: &v.sortFlags,
		flags:     &v.sets,
		operation: operation,
		name:      verbName(use),
	}
	return verb(use, about, example, v, func(cmd *cobra.Command, files []string) error {
		return v.report.writeJSON(cmd.Context(), a, s.run(cmd.Context(), a, files))
	})
}

// A setRun is one set operation of the command line.
type setRun struct {
	*sortFlags
	flags     *setFlags
	operation sets.Operation
	name      string
}

func (s *setRun) run(ctx context.Context, a *app, operands []string) error {
	files, err := s.inputNames(operands, a.stdin)
	if err != nil {
		return err
	}
	if err := s.checkOperands(files); err != nil {
		return err
	}
	if err := s.report.open(ctx, s.outputs(a, files)); err != nil {
		return err
	}
	s.guessFormat(files)
	if err := errors.Join(s.contradictions(files)...); err != nil {
		return err
	}
	if err := a.checkInput(files); err != nil {
		return err
	}
	opt, err := s.setOptions(a, files)
	if err != nil {
		return err
	}
	if s.operation != sets.Compare {
		if err := a.checkOutput(s.opt.Output, files...); err != nil {
			return err
		}
	}

	progress := a.startBars(s.report.progressMode())
	opt.Inputs.Progress = progress
	opt.Inputs.MeasureMemory = s.report.stats != ""
	report, err := session.Combine(ctx, opt)
	progress.Close()
	if report != nil {
		s.report.setResult(report.Report)
		s.keepCounts(report)
	}
	if err != nil {
		return s.withHint(countedFrom(err, s.opt.SkipBytes), files[0])
	}
	progress.Done(s.name+" of", report.BytesRead, report.Seconds)
	s.report.writeText(a, report.Report)
	if report.Counts != nil {
		s.print(a, report)
	}
	return nil
}

// outputs returns the places that a run reads or writes.
func (s *setRun) outputs(a *app, files []string) []place {
	if s.operation != sets.Compare {
		return s.places(a, files)
	}
	var all []place
	for _, name := range files {
		all = append(all, inputPlace(a, name))
	}
	for _, name := range s.setOutputs() {
		all = append(all, place{role: "an output", name: name})
	}
	return append(all, place{role: "the counts", stream: a.stdout})
}

// setOutputs returns the files that a comparison writes.
func (s *setRun) setOutputs() (names []string) {
	for _, name := range []string{s.flags.onlyA, s.flags.onlyB, s.flags.both} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (s *setRun) checkOperands(files []string) error {
	switch {
	case (s.operation == sets.Compare || s.operation == sets.Join) && len(files) != 2:
		return fmt.Errorf("%s: want two files A and B, but got %d", s.name, len(files))
	case s.operation != sets.Union && len(files) < 2:
		return fmt.Errorf("%s: want a file A and at least one more, but got %d", s.name, len(files))
	case len(files) == 0:
		return fmt.Errorf("%s: name the sorted files", s.name)
	}
	names := s.setOutputs()
	for i, name := range names {
		for _, other := range names[:i] {
			if name == other || filename.SameFile(name, other) {
				return fmt.Errorf("%s: two outputs cannot be the same file", name)
			}
		}
		if s.operation == sets.Compare && name == "-" {
			return errors.New("compare prints its counts to standard output: name a file, or use intersect or " +
				"subtract")
		}
	}
	return nil
}

// setOptions returns the options of the operation.
func (s *setRun) setOptions(a *app, files []string) (session.SetOptions, error) {
	all := s.options(a, files)
	opt := session.SetOptions{
		Operation: s.operation,
		All:       s.flags.all,
		Sort:      s.flags.sort,
		OnlyA:     s.flags.onlyA,
		OnlyB:     s.flags.onlyB,
		Both:      s.flags.both,
	}
	if s.operation == sets.Join {
		if err := s.setJoin(&opt); err != nil {
			return opt, err
		}
	}
	if s.flags.right != "" {
		right, err := s.parseRight(files[1])
		if err != nil {
			return opt, err
		}
		right.Inputs = files[1:]
		right.Stdin = a.stdin
		opt.Right = &right
		all.Inputs = files[:1]
	}
	opt.Inputs = fields.Shared[session.MergeOptions](all)
	return opt, nil
}

// parseRight parses the value of --right: flags that describe the layout of the second input and of
// all further ones.
func (s *setRun) parseRight(second string) (session.MergeOptions, error) {
	text := s.flags.right
	v := &flagValues{}
	g := newGroup("right")
	for _, define := range []defineFlag{
		typeFlag, recordSizeFlag, fieldsFlag, keyFlag, formatFlag, memberFlag,
		skipBytesFlag, recordsFlag, skipTailFlag,
		decompressFlag, rawFlag, reverseFlag, nanFlag, floatFlag,
	} {
		define(g, v)
	}
	g.flags.Usage = func() {} // an error is one line
	err := g.flags.Parse(strings.Fields(text))
	if err == nil && g.flags.NArg() > 0 {
		err = fmt.Errorf("%q is not a flag", g.flags.Arg(0))
	}
	if errors.Is(err, pflag.ErrHelp) {
		err = errors.New("--right takes only flags of the layout")
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		err = fmt.Errorf("%s: --right takes only flags of the layout", unknownName(unknown))
	}
	if err == nil {
		err = s.checkRight(v.opt.Record, second)
	}
	if err == nil {
		err = validateRecord(v.opt.Record)
	}
	if err != nil {
		return session.MergeOptions{}, fmt.Errorf("--right %q: %w", text, err)
	}
	return fields.Shared[session.MergeOptions](v.opt), nil
}

// checkRight returns an error if --right relies on the layout of the first input or on the detection
// of formats.
func (s *setRun) checkRight(right format.Spec, second string) error {
	left := s.opt.Record
	isComplete := right.Type+right.Format+right.Fields != "" || right.RecordSize > 0
	namesField := slices.ContainsFunc(right.Keys, isFieldName)
	if isComplete && (!namesField || right.Format+right.Fields != "") {
		return nil
	}
	if c, ok := format.ByMagic(beginning(second)); ok {
		return fmt.Errorf("--right does not detect formats: add -f %s", c.Name)
	}
	if namesField && left.Fields != "" {
		return errors.New("--right replaces the whole layout: repeat --fields (or -R) in it")
	}
	if isComplete {
		return nil
	}
	repeat := "-t, -R or --fields"
	switch {
	case left.Fields != "":
		repeat = "--fields (or -R)"
	case left.Format != "":
		repeat = "-f " + left.Format
	case left.RecordSize > 0:
		repeat = "-R"
	case left.Type != "":
		repeat = "-t (or -R)"
	}
	return fmt.Errorf("--right replaces the whole layout: repeat %s in it", repeat)
}

// withHint adds to an error about disorder how to sort the inputs, and to an error about the layout
// of the inputs after the first that --right describes it.
func (s *setRun) withHint(err error, first string) error {
	partial, ok := errors.AsType[*format.PartialRecordError](err)
	if ok && s.flags.right != "" && partial.File != first {
		return fmt.Errorf("--right: %w", err)
	}
	if _, ok := errors.AsType[*session.DisorderError](err); ok && !s.flags.sort {
		return fmt.Errorf("%w (--sort sorts the inputs first)", err)
	}
	return err
}

// keepCounts adds the counts of a comparison to the JSON report.
func (s *setRun) keepCounts(report *session.SetReport) {
	if report.Counts == nil {
		return
	}
	detail := report.Report.Detail
	detail.Plan = nil
	s.report.result = struct {
		*session.Report
		session.Detail
		Counts *sets.Counts `json:"compared"`
	}{report.Report, detail, report.Counts}
}

// print prints the counts of a comparison.
func (s *setRun) print(a *app, report *session.SetReport) {
	line := func(keys, records int64) string {
		return plural(keys, "key") + ", " + plural(records, "record")
	}
	c := report.Counts
	both := line(c.KeysBoth, c.RecordsBoth)
	if c.OtherBoth != c.RecordsBoth {
		both += " in A, " + humanize.Comma(c.OtherBoth) + " in B"
	}
	writeRows(a.out, []row{
		{"only in A", line(c.KeysA, c.RecordsA)},
		{"only in B", line(c.KeysB, c.RecordsB)},
		{"in both", both},
	})
}
