package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/extsort/extsort/device/opencl"
)

// Options describes how cases are timed. The zero value is the default.
type Options struct {
	Runs      int     // timed runs of each case, whose median counts; 0: 5
	SortLimit float64 // seconds; a case whose sort would take longer is skipped; 0: 0.5
	OnResult  func(Result)
	OnCase    func(Case)
}

const (
	defaultRuns      = 5
	defaultSortLimit = 0.5
)

// Run times the cases in order. Failures of cases are part of the results; Run returns an error
// only if ctx ends.
func Run(
	ctx context.Context,
	bed Bed,
	cases []Case,
	opt Options,
) ([]Result, error) {
	if opt.Runs == 0 {
		opt.Runs = defaultRuns
	}
	if opt.SortLimit == 0 {
		opt.SortLimit = defaultSortLimit
	}
	guard := guard{limit: opt.SortLimit, seen: map[series][]Result{}}
	results := make([]Result, 0, len(cases))
	for _, c := range cases {
		if opt.OnCase != nil {
			opt.OnCase(c)
		}
		r := Result{Case: c, Skipped: guard.skipReason(c)}
		if r.Skipped == "" {
			r = timeCase(ctx, bed, c, opt.Runs)
		}
		if err := context.Cause(ctx); err != nil {
			return results, context.Cause(ctx)
		}
		guard.noteResult(r)
		results = append(results, r)
		if opt.OnResult != nil {
			opt.OnResult(r)
		}
	}
	return results, nil
}

// timeCase times one case.
func timeCase(ctx context.Context, bed Bed, c Case, runs int) Result {
	r := Result{Case: c}
	timing, err := bed.Time(ctx, c, runs)
	switch {
	case errors.Is(err, ErrCannot):
		r.Skipped = err.Error()
	case err != nil:
		r.Error = err.Error()
	default:
		r.Seconds = median(timing.Seconds)
		r.Passes = timing.Passes
		r.Kernels = timing.Kernels
		r.Rate = float64(c.Records) / max(r.Seconds, 1e-9)
	}
	return r
}

// A guard skips cases that would take too long, judging by smaller sizes of the same series.
type guard struct {
	limit float64
	seen  map[series][]Result
}

// A series consists of the cases that differ only in size.
type series struct {
	label string
	key   opencl.KeyKind
	dist  string
}

func seriesOf(c Case) series { return series{c.Label, c.Key, c.Dist} }

func (g *guard) noteResult(r Result) {
	if r.Seconds > 0 {
		s := seriesOf(r.Case)
		g.seen[s] = append(g.seen[s], r)
	}
}

// skipReason returns why a case is skipped, or "". It assumes that the time grows as it did between
// the last two sizes, and at least in proportion to the number of keys.
func (g *guard) skipReason(c Case) string {
	seen := g.seen[seriesOf(c)]
	if len(seen) == 0 {
		return ""
	}
	last := seen[len(seen)-1]
	ratio := float64(c.Records) / float64(last.Records)
	expected := last.Seconds * ratio
	if len(seen) > 1 {
		before := seen[len(seen)-2]
		growth := last.Seconds / before.Seconds / (float64(last.Records) / float64(before.Records))
		expected *= max(growth, 1)
	}
	if expected <= g.limit {
		return ""
	}
	return fmt.Sprintf("one sort would take about %.1f s", expected)
}
