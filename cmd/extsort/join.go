package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/session"
)

// maxSummary is the maximum size of a summary file in bytes.
const maxSummary = 1 << 20

// joinSummaries reads the summaries of consecutive parts, checks that the parts follow each other,
// and prints their joint summary.
func (f *sortFlags) joinSummaries(ctx context.Context, a *app, files []string) error {
	if len(files) == 0 {
		return errors.New("--join: name the summaries of the parts in order")
	}
	report, err := f.combineSummaries(ctx, files)
	if report == nil {
		return err
	}
	return f.verdict(a, report, err)
}

// combineSummaries combines the summaries. If it returns both a report and an error, the parts do
// not follow each other.
func (f *sortFlags) combineSummaries(
	ctx context.Context, files []string,
) (*session.CheckReport, error) {
	whole := &session.CheckReport{Sorted: true}
	before := ""
	var disorder error
	for i, name := range files {
		next, err := readSummary(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if i == 0 {
			whole.Order = next.Order
			whole.Checksum = "0"
		}
		if disorder == nil {
			disorder = f.outOfOrder(next, name, &whole.Summary, before)
		}
		if err := whole.Add(&next.Summary); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if next.Records > 0 {
			before = name
		}
	}
	whole.Sorted = disorder == nil
	return whole, disorder
}

// outOfOrder returns the error for an unsorted part, or for a part that does not follow the
// previous part.
func (f *sortFlags) outOfOrder(
	next *session.CheckReport,
	name string,
	whole *format.Summary,
	before string,
) error {
	switch unique := f.opt.Unique; {
	case !next.Sorted:
		return fmt.Errorf("%s: its records are not in order", name)
	case unique && next.Duplicates > 0:
		return fmt.Errorf(
			"%s: its keys are not unique: it has %s",
			name,
			plural(next.Duplicates, "duplicate"),
		)
	case !whole.Precedes(&next.Summary, unique):
		return fmt.Errorf("%s: does not follow %s: it begins with %s, but that file ends with %s",
			name, before, next.First, whole.Last)
	}
	return nil
}

// readSummary reads the JSON of a check, or of a sort with --verify.
func readSummary(
	ctx context.Context, name string,
) (*session.CheckReport, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, device.WithoutPath(err)
	}
	defer file.Close() // closing a file that was only read cannot lose data
	text, err := io.ReadAll(io.LimitReader(file, maxSummary))
	if err != nil {
		return nil, device.WithoutPath(err)
	}
	var of struct {
		Error   string          `json:"error"`
		Summary *format.Summary `json:"summary"`
	}
	report := &session.CheckReport{}
	err = errors.Join(json.Unmarshal(text, &of), json.Unmarshal(text, report))
	if of.Error != "" {
		return nil, fmt.Errorf("describes a run that failed: %s", of.Error)
	}
	if of.Summary != nil {
		report = &session.CheckReport{Summary: *of.Summary, Sorted: true}
	}
	if err != nil || report.Validate() != nil {
		return nil, errors.New(
			"is not a summary written by extsort -c --stats=json:FILE or by a sort " +
				"with --verify",
		)
	}
	return report, context.Cause(ctx)
}
