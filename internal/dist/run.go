package dist

import (
	"context"
	"fmt"
	"strings"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
)

// Run sorts the slices of a share, each into a run.
func (w *Worker) Run(ctx context.Context, s extsort.Part) error { return w.each(ctx, runs, s, w.run) }

// run sorts slice k. Inputs that changed before or meanwhile are refused: other runs have other records of them.
func (w *Worker) run(ctx context.Context, k int) (*Record, error) {
	p := w.Plan
	if err := p.checkInputs(); err != nil {
		return nil, err
	}
	opt := w.Options
	opt.Record, opt.Reverse, opt.Part = p.Record, p.Reverse, partOf(k, p.Runs)
	for _, f := range p.Inputs {
		opt.Inputs = append(opt.Inputs, f.Name)
	}
	opt.Output, opt.Verify = p.runFile(k), true
	report, err := extsort.Sort(ctx, opt)
	if err == nil {
		err = p.checkInputs()
	}
	if err != nil {
		return nil, classed(err, noRoom...)
	}
	from, to := opt.Part.Of(p.Records)
	if report.RecordsOut != to-from {
		return nil, fmt.Errorf("%d records were sorted, but the slice has %d", report.RecordsOut, to-from)
	}
	r := &Record{File: p.runFile(k), Records: to - from, Bytes: (to - from) * int64(p.RecordBytes)}
	return r, setChecksum(&r.Checksum, report.ChecksumOut)
}

// setChecksum reads the digits of a report, which has no leading zeros.
func setChecksum(c *format.Checksum, digits string) error {
	return c.UnmarshalText([]byte(strings.Repeat("0", 32-len(digits)) + digits))
}
