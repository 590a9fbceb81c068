package dist

import (
	"context"

	"github.com/extsort/extsort"
)

// Run sorts the slices of a share, each into a run.
func (w *Worker) Run(ctx context.Context, s extsort.Part) error { return w.each(ctx, runs, s, w.run) }

// run sorts slice k. Inputs that changed before or meanwhile are refused: other runs have other records of them.
func (w *Worker) run(ctx context.Context, k int) (*extsort.Report, error) {
	p := w.Plan
	if err := p.checkInputs(ctx); err != nil {
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
		err = p.checkInputs(ctx)
	}
	return report, classed(err, noRoom...)
}
