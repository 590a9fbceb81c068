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

// MergeLevels merges runs into fewer until fanIn are left at most, and those into w. Only neighbours are merged, and
// the result takes their place, which keeps equal keys in order. Merged runs are closed as soon as what replaces them
// is complete. A limit holds for every merge: a record that is not among the first of its group is not among the first
// of all. A DisorderError names the input by its number in runs.
//
// The runs that are left belong to the caller, also after an error, when no record has been lost: those of merges
// that were complete are among them.
func MergeLevels(ctx context.Context, opt Options, runs []*spill.Run, fanIn int,
	newRun func() (RunWriter, error), w device.BlockWriter) ([]*spill.Run, error) {
	left, origin, err := reduce(ctx, opt, runs, fanIn, newRun)
	if err != nil {
		return left, err
	}
	return left, renumber(Merge(ctx, opt, left, w), origin)
}

// reduce merges runs until fanIn are left; origin says of each of these which run was, or was the first, in its place.
func reduce(ctx context.Context, opt Options, runs []*spill.Run, fanIn int,
	newRun func() (RunWriter, error)) (left []*spill.Run, origin []int, err error) {
	if len(runs) > fanIn && fanIn < 2 {
		return runs, nil, fmt.Errorf("merge: %d runs cannot become fewer when only %d can be merged at once: "+
			"give it more memory or files", len(runs), fanIn)
	}
	left = slices.Clone(runs)
	for i := range runs {
		origin = append(origin, i)
	}
	for len(left) > fanIn {
		from, to := nextGroup(left, fanIn)
		merged, err := mergeGroup(ctx, opt, left[from:to], newRun)
		if err != nil {
			return left, origin, renumber(err, origin[from:])
		}
		group := slices.Clone(left[from:to])
		left = slices.Replace(left, from, to, merged)
		origin = slices.Delete(origin, from+1, to)
		for _, run := range group {
			err = errors.Join(err, run.Close())
		}
		if err != nil {
			return left, origin, err
		}
	}
	return left, origin, nil
}

// renumber makes a DisorderError count inputs as they were before any were merged.
func renumber(err error, origin []int) error {
	var disorder *DisorderError
	if errors.As(err, &disorder) {
		disorder.Input = origin[disorder.Input]
	}
	return err
}

// nextGroup chooses the neighbours to merge next: of all groups of the size that plan.MergeGroup gives, the one with
// the fewest records.
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
	newRun func() (RunWriter, error)) (*spill.Run, error) {
	w, err := newRun()
	if err != nil {
		return nil, err
	}
	err = Merge(ctx, opt, group, w)
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	run, err := w.Finish()
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	return run, nil
}
