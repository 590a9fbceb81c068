package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/session"
)

// recordsForm is the form of the most frequent keys as records.
const recordsForm textform.Form = "records"

// defaultTop is the default number of keys.
const defaultTop = 10

func topFlags(g group, v *flagValues) {
	v.top = defaultTop
	g.add(parsed(&v.top, "N", parseTopLimit), "limit", "print the N most frequent keys; otherwise 10").
		hints("head", "count", "lines")
	v.text.form = tableForm
	g.add(oneOf(&v.text.form, "FORM", append(textForms(), string(recordsForm))...), "as",
		"form of the lines, or records: the fields of the key and the count as a little-endian u64").
		hints("csv", "json", "to", "output-format")
}

// parseTopLimit parses a number of keys, which may be 0.
func parseTopLimit(s string) (int64, error) {
	n, err := parseCount(s)
	if err == nil && n < 0 {
		err = fmt.Errorf("%q: must not be negative", s)
	}
	return n, err
}

func topCommand(a *app) *cobra.Command {
	v := &flagValues{}
	return verb("top [flags] [FILE ...]",
		"Print the most frequent keys and the number of records with each, the most\n"+
			"frequent first. Keys with equal counts are in key order.",
		"  extsort top -t u64 keys.bin\n"+
			"  extsort top --fields 'user=u32 page=u32' -k page --limit 3 --as csv log.bin",
		v, func(cmd *cobra.Command, files []string) error {
			return v.report.writeJSON(cmd.Context(), a, printTop(cmd.Context(), a, v, files))
		})
}

// printTop prints the most frequent keys.
func printTop(ctx context.Context, a *app, v *flagValues, operands []string) error {
	files, err := v.inputNames(operands, a.stdin)
	if err != nil {
		return err
	}
	if err := v.report.open(ctx, v.places(a, files)); err != nil {
		return err
	}
	v.guessFormat(files)
	if err := errors.Join(v.contradictions(files)...); err != nil {
		return err
	}
	if err := a.checkInput(files); err != nil {
		return err
	}
	if err := v.text.checkHeader(); err != nil {
		return err
	}
	if err := checkNotInput(a, v.opt.Output, files); err != nil {
		return err
	}
	if v.text.form == recordsForm {
		if err := a.checkOutput(v.opt.Output, files...); err != nil {
			return err
		}
	}

	opt := v.options(a, files)
	opt.Output = ""
	opt.Compress = ""
	progress := a.startBars(v.report.progressMode())
	opt.Progress = progress
	opt.MeasureMemory = v.report.stats != ""
	top, err := session.Top(ctx, opt, v.top)
	progress.Close()
	if top != nil {
		v.report.setResult(top.Report)
	}
	if err != nil {
		return countedFrom(err, v.opt.SkipBytes)
	}
	if err := writeTop(ctx, a, v, files, top); err != nil {
		return err
	}
	progress.Done("counted", top.BytesRead, top.Seconds)
	v.report.writeText(a, top.Report)
	return nil
}

// writeTop writes the most frequent keys in the form that the flags request.
func writeTop(ctx context.Context, a *app, v *flagValues, files []string, top *session.TopReport) error {
	sink, err := openTextSink(ctx, a, v, nil, files)
	if err != nil {
		return err
	}
	p := newPrinter(a, v, printed{top.RecordSize, top.Columns, readerOf(top.Records, top.RecordSize)}, sink)
	if v.text.form == recordsForm {
		err = p.write(ctx, top.Records)
	} else {
		err = p.print(ctx, 1)
	}
	if err != nil {
		return errors.Join(err, sink.Abort())
	}
	return sink.Commit(ctx, p.written)
}
