package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
)

// RunWriter stores a run. After all blocks, Finish makes the run that can be read; Abort gives up what was
// written.
type RunWriter interface {
	device.BlockWriter
	Finish() (*spill.Run, error)
	Abort() error
}

// Reduce merges runs into fewer until fanIn are left at most, so that one merge can finish. Only neighbours are
// merged, and the result takes their place, which keeps equal keys in order. Merged runs are closed as soon as
// what replaces them is complete. A limit holds for every merge: a record that is not among the first of its
// group is not among the first of all.
//
// The runs that are left belong to the caller, also after an error, when no record has been lost: those of merges
// that were complete are among them.
func Reduce(ctx context.Context, opt Options, runs []*spill.Run, fanIn int,
	newRun func() (RunWriter, error)) ([]*spill.Run, Stats, error) {
	left, _, stats, err := reduce(ctx, opt, runs, fanIn, newRun)
	return left, stats, err
}

// MergeLevels is Reduce and then Merge of what is left, into w. A DisorderError names the input by its number in
// runs, which after a Reduce of one's own it could not.
func MergeLevels(ctx context.Context, opt Options, runs []*spill.Run, fanIn int,
	newRun func() (RunWriter, error), w device.BlockWriter) ([]*spill.Run, Stats, error) {
	left, origin, stats, err := reduce(ctx, opt, runs, fanIn, newRun)
	if err != nil {
		return left, stats, err
	}
	s, err := Merge(ctx, opt, left, w)
	return left, stats.add(s), renumber(err, origin)
}

// reduce is Reduce; origin says for every run that is left which run was, or was the first, in its place.
func reduce(ctx context.Context, opt Options, runs []*spill.Run, fanIn int,
	newRun func() (RunWriter, error)) (left []*spill.Run, origin []int, stats Stats, err error) {
	if len(runs) > fanIn && fanIn < 2 {
		return runs, nil, stats, fmt.Errorf("merge: %d runs cannot become fewer when only %d can be merged at once: give it more memory or files",
			len(runs), fanIn)
	}
	left = slices.Clone(runs)
	for i := range runs {
		origin = append(origin, i)
	}
	for len(left) > fanIn {
		from, to := nextGroup(left, fanIn)
		merged, s, err := mergeGroup(ctx, opt, left[from:to], newRun)
		stats = stats.add(s)
		if err != nil {
			return left, origin, stats, renumber(err, origin[from:])
		}
		group := slices.Clone(left[from:to])
		left = slices.Replace(left, from, to, merged)
		origin = slices.Delete(origin, from+1, to)
		if err := closeRuns(group); err != nil {
			return left, origin, stats, err
		}
	}
	return left, origin, stats, nil
}

// renumber makes a DisorderError count inputs as they were before any were merged.
func renumber(err error, origin []int) error {
	var disorder *DisorderError
	if errors.As(err, &disorder) {
		disorder.Input = origin[disorder.Input]
	}
	return err
}

// nextGroup chooses the neighbours to merge next: of all groups of the size that plan.MergeGroup gives, the one with the fewest
// records.
func nextGroup(runs []*spill.Run, fanIn int) (from, to int) {
	size := plan.MergeGroup(len(runs), fanIn)
	var records int64
	for _, r := range runs[:size] {
		records += r.Records()
	}
	fewest := records
	for i := size; i < len(runs); i++ {
		records += runs[i].Records() - runs[i-size].Records()
		if records < fewest {
			fewest, from = records, i-size+1
		}
	}
	return from, from + size
}

func mergeGroup(ctx context.Context, opt Options, group []*spill.Run,
	newRun func() (RunWriter, error)) (*spill.Run, Stats, error) {
	w, err := newRun()
	if err != nil {
		return nil, Stats{}, err
	}
	stats, err := Merge(ctx, opt, group, w)
	if err != nil {
		return nil, stats, errors.Join(err, w.Abort())
	}
	run, err := w.Finish()
	if err != nil {
		return nil, stats, errors.Join(err, w.Abort())
	}
	return run, stats, nil
}

func closeRuns(runs []*spill.Run) error {
	var faults []error
	for _, r := range runs {
		faults = append(faults, r.Close())
	}
	return errors.Join(faults...)
}
