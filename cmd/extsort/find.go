package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/lookup"
	"github.com/extsort/extsort/internal/session"
)

// errNotFound means that find found nothing.
var errNotFound = errors.New("not found")

func findCommand(a *app) *cobra.Command {
	v := &flagValues{}
	return verb("find [flags] [KEY ...] FILE",
		"Find records by key in a sorted file, and read only a few pages of the file.\n"+
			"A KEY is a value as extsort print writes it. If the key has several fields,\n"+
			"separate their values by commas; you can leave out the last ones. The exit\n"+
			"status is 0 if a record was found (with --missing: if a key is missing), 1 if\n"+
			"not, and 2 after an error. Write -- before negative numbers.",
		"  extsort find -t u64 12345 sorted.bin\n"+
			"  extsort find -R 16 -k 0:time_s --from 2026-11-01 --to 2026-12-01 log.bin\n"+
			"  extsort find -t bytes20 --keys hashes.txt --missing hibp.bin",
		v, func(cmd *cobra.Command, operands []string) error {
			return v.report.writeJSON(cmd.Context(), a, findRecords(cmd.Context(), a, v, operands))
		})
}

// openSorted opens a sorted file and its index.
func openSorted(
	ctx context.Context, a *app, v *flagValues, name string, index lookup.IndexFile,
) (*lookup.File, error) {
	if err := a.checkInput([]string{name}); err != nil {
		return nil, err
	}
	v.guessFormat([]string{name})
	spec := v.opt.Record
	firstInput := v.checkFirstInput([]string{name})
	if err := cmp.Or(mistakenForm(spec.Format), firstInput, validateRecord(spec)); err != nil {
		return nil, err
	}
	kind := input.Kind{
		Spec:        spec,
		Recognition: format.Recognition{Raw: v.opt.Raw},
		Frame: input.Frame{
			Skip:    v.opt.SkipBytes,
			Records: v.opt.Records,
			Tail:    v.opt.SkipTail,
		},
		FewReads: v.text.find.fewReads,
	}
	if err := kind.Recognition.Validate(spec); err != nil {
		return nil, err
	}
	return lookup.Open(ctx, lookup.Options{
		Kind:    kind,
		Source:  input.Named(name)[0],
		Stdin:   a.stdin,
		Reverse: v.opt.Reverse,
		Index:   index,
		Warn:    a.warn,
	})
}

// A finder is one run of find.
type finder struct {
	*findFlags
	flags    *flagValues
	app      *app
	operands []string // the keys of the command line
	name     string   // of the sorted file
	file     *lookup.File
	warn     func(string)

	sorted *session.Report // of the sort of the keys in a file; nil: none
	total  findReport
}

func findRecords(ctx context.Context, a *app, v *flagValues, operands []string) error {
	if err := v.text.find.checkOperands(operands); err != nil {
		return err
	}
	if v.text.header != "" && v.text.form != tableForm && !v.text.form.HasHeader() {
		return errors.New("--header only works with --as csv, tsv or table")
	}
	if len(v.text.columns) > 0 && slices.Contains([]textform.Form{"", keysRecords, textform.Hex}, v.text.form) {
		return errors.New("--columns only works with --as table, csv, tsv or jsonl")
	}
	last := len(operands) - 1
	f := &finder{
		findFlags: &v.text.find,
		flags:     v,
		app:       a,
		operands:  operands[:last],
		name:      operands[last],
		warn:      a.warn,
	}
	v.text.find.fewReads = f.keys == ""
	if v.report.quiet {
		f.warn = func(string) {}
	}
	if err := v.report.open(ctx, v.places(a, f.inputs())); err != nil {
		return err
	}
	v.checkMemory(f.warn)
	return f.run(ctx)
}

// run looks up the keys and writes the results and the report.
func (f *finder) run(ctx context.Context) error {
	start := time.Now()
	file, err := openSorted(ctx, f.app, f.flags, f.name, f.indexOf(f.name))
	if err != nil {
		return err
	}
	f.file = file
	defer file.Close() // closing a file that was only read cannot lose data
	err = f.write(ctx)
	f.complete(time.Since(start).Seconds())
	if err != nil {
		return err
	}
	if f.flags.report.stats == "text" {
		f.total.write(f.app.notes)
	}
	if f.missing && f.total.Missing == 0 || !f.missing && f.total.Records == 0 {
		return errNotFound
	}
	return nil
}

// checkOperands returns an error unless the operands are keys and a file, or only a file if a flag
// says what to find.
func (f *findFlags) checkOperands(operands []string) error {
	byFlag := f.keys+f.from+f.to+f.prefix != ""
	switch {
	case len(operands) == 0:
		return errors.New("find: name a KEY and the sorted FILE")
	case !byFlag && len(operands) == 1:
		return fmt.Errorf("find: %s may be the sorted FILE, but no KEY is given: use KEY FILE, --keys, --from, --to or "+
			"--prefix", operands[0])
	case byFlag && len(operands) > 1:
		return fmt.Errorf("find: with --keys, --from, --to or --prefix, the only operand is the FILE: %s is one too many",
			operands[0])
	case f.keys == "-" && isStandard(operands[len(operands)-1], 0):
		return errors.New("find: standard input (-) can be read only once")
	}
	return nil
}

// indexOf returns the index to use with a file.
func (f *findFlags) indexOf(file string) lookup.IndexFile {
	switch {
	case f.index == noIndex:
		return lookup.IndexFile{}
	case f.index != "":
		return lookup.IndexFile{Name: f.index}
	case isStandard(file, 0) || strings.Contains(file, "://"):
		return lookup.IndexFile{}
	}
	return lookup.IndexFile{Name: file + lookup.IndexSuffix, IfPresent: true}
}

// writesRecords reports whether the output consists of records, as they are or as text.
func (f *finder) writesRecords() bool { return !f.missing && !f.count && !f.position }

// write looks up the keys and writes the results.
func (f *finder) write(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := f.results(ctx)
	defer results.stop()
	if err := results.readAhead(); err != nil {
		return err
	}
	switch {
	case f.count:
		return f.writeCount(ctx, results)
	case !f.writesRecords():
		return f.writeText(ctx, results.lines)
	case f.flags.text.form == "" || f.flags.text.form == keysRecords:
		return f.writeRecords(ctx, results)
	}
	return f.writeLines(ctx, results.records())
}
