package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/output"
)

func printCommand(a *app) *cobra.Command {
	v := &flagValues{}
	return verb("print [flags] [FILE ...]",
		"Print records as text: a table, CSV, TSV, JSON objects, or hexadecimal\n"+
			"digits. extsort parse reads these lines, except for a table.",
		"  extsort print --fields 'time=u64 value=f32' --head 10 log.bin\n"+
			"  extsort print --as csv -o trades.csv trades.npy\n"+
			"  extsort print -t u64 --range 1e6:1000010 sorted.bin",
		v, func(cmd *cobra.Command, files []string) error {
			return printRecords(cmd.Context(), a, v, files)
		})
}

// mistakenForm returns an error if the format of the records is a form of lines.
func mistakenForm(name string) error {
	if !slices.Contains(textForms(), name) {
		return nil
	}
	return fmt.Errorf(
		"-f %s: -f names the format of binary records: use --as %[1]s for the lines",
		name,
	)
}

// checkHeader returns an error if --header does not apply to the form of the lines.
func (f *textFlags) checkHeader() error {
	if f.header == "" || f.form == tableForm || f.form.HasHeader() {
		return nil
	}
	return fmt.Errorf("--header does not apply to --as %s: leave it out", f.form)
}

// tableWidth returns the width of a table in characters. It is 0 if the width is not limited.
func (v *flagValues) tableWidth(a *app) int {
	if v.opt.Output == "" || isStandard(v.opt.Output, 1) {
		return terminalColumns(a.stdout)
	}
	return 0
}

func printRecords(
	ctx context.Context, a *app, v *flagValues, files []string,
) error {
	if err := v.text.checkHeader(); err != nil {
		return err
	}
	in, err := openRecords(ctx, a, v, files)
	if err != nil {
		return err
	}
	defer in.Close() // closing a file that was only read cannot lose data
	columns, err := chosenColumns(in.header.Columns(), v.text.columns)
	if err != nil {
		return err
	}
	read, err := in.selectedReader(ctx, &v.text)
	if err != nil {
		return err
	}
	sink, err := openTextSink(ctx, a, v, nil, files)
	if err != nil {
		return err
	}

	p := newPrinter(a, v, printed{in.recordSize(), columns, read}, sink)
	err = p.print(ctx, v.opt.Workers)
	if err == nil {
		err = in.checkUnchanged(a.warn)
	}
	if err != nil {
		return errors.Join(err, sink.Abort())
	}
	return sink.Commit(ctx, p.written)
}

// chosenColumns returns the columns with the given names, or all.
func chosenColumns(
	columns []format.Column, names []string,
) ([]format.Column, error) {
	if len(names) == 0 {
		return columns, nil
	}
	var known []string
	for _, c := range columns {
		known = append(known, c.Name)
	}
	var chosen []format.Column
	for _, name := range names {
		at := slices.Index(known, name)
		if at < 0 {
			hint := ""
			if near := nearestWord(name, known); near != "" {
				hint = fmt.Sprintf(" (did you mean %s?)", near)
			}
			const shownNames = 12
			return nil, fmt.Errorf("--columns: no column %q: there are %s%s%s", name,
				strings.Join(
					known[:min(len(known), shownNames)], ", ",
				), textIf(len(known) > shownNames, " …"), hint)
		}
		chosen = append(chosen, columns[at])
	}
	return chosen, nil
}

// openTextSink opens the output of parse, whose records have a header, or of print. A record of
// text is one byte.
func openTextSink(
	ctx context.Context,
	a *app,
	v *flagValues,
	header *format.Header,
	inputs []string,
) (
	*output.Sink, error) {
	const unknown = -1
	return openRecordSink(ctx, a, v, written{header, unknown}, inputs)
}

// written describes the records of an output.
type written struct {
	header  *format.Header // nil for text
	records int64          // their number; negative if it is not known
}

// checkNotInput returns an error if an output is also an input.
func checkNotInput(a *app, name string, inputs []string) error {
	toStdout := name == "" || isStandard(name, 1)
	for _, one := range inputs {
		in := inputPlace(a, one)
		switch {
		case !toStdout && in.isFile(name):
			return fmt.Errorf(
				"-o %s: is also an input: name another file", name,
			)
		case toStdout && in.isEmptied(a.stdout):
			return fmt.Errorf(
				"%s is also standard output: the shell has emptied it", one,
			)
		case toStdout && in.isOpenAs(a.stdout):
			return fmt.Errorf(
				"%s is also standard output, and would be overwritten: use -o and another file", one,
			)
		}
	}
	return nil
}

// openRecordSink is openTextSink for records whose number may be known.
func openRecordSink(
	ctx context.Context,
	a *app,
	v *flagValues,
	w written,
	inputs []string,
) (
	*output.Sink, error) {
	name := v.opt.Output
	if err := checkNotInput(a, name, inputs); err != nil {
		return nil, err
	}
	compression, err := format.ParseCompression(v.opt.Compress, name)
	if err != nil {
		return nil, err
	}
	opt := output.Options{
		RecordSize:  1,
		Records:     w.records,
		Compression: compression,
		Writers:     1,
		Compressors: processors,
	}
	if header := w.header; header != nil {
		opt.RecordSize = header.Layout().RecordSize
		opt.Header = header.Encode
		opt.MaxRecords = header.MaxRecords()
	}
	to := a.stdout
	if name != "" && name != "-" {
		to, err = output.Create(
			ctx, name, opt.File(output.FileOptions{}), remotePart, remoteParts,
		)
		if err != nil {
			return nil, err
		}
	}
	return output.NewSink(ctx, to, opt)
}
