package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/extsort/extsort/internal/fields"
	"github.com/extsort/extsort/internal/session"
)

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
