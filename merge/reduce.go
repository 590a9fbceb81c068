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

// MergeLevels merges neighboring runs until at most fanIn are left, and merges these into w. The
// result of a merge replaces its inputs in the list of runs, which keeps equal keys in order. The
// inputs are closed as soon as their replacement is complete. The limit in opt applies to every
// merge, because a record that is not among the first of its group cannot be among the first of
// all. A DisorderError gives the index of the input in runs.
//
// The caller owns the returned runs, even after an error. They always contain all records,
// because completed merges are among them.
func MergeLevels(
	ctx context.Context, opt Options, runs []*spill.Run, fanIn int,
	newRun func(group []*spill.Run) *spill.RunWriter, w device.BlockWriter,
) ([]*spill.Run, error) {
	left, err := Reduce(ctx, opt, runs, fanIn, newRun)
	if err != nil {
		return left, err
	}
	return left, mergeSome(ctx, opt, left, runs, w)
}

// Reduce merges neighboring runs until at most fanIn are left: MergeLevels without its last
// merge.
func Reduce(
	ctx context.Context, opt Options, runs []*spill.Run, fanIn int,
	newRun func(group []*spill.Run) *spill.RunWriter,
) (left []*spill.Run, err error) {
	return reduce(ctx, opt, runs, fanIn, fanIn, newRun, plan.MergeGroup)
}

// ReduceTo merges runs, fanIn at a time, until at most max(most, fanIn) are left. It is for
// callers that will add more runs.
func ReduceTo(
	ctx context.Context, opt Options, runs []*spill.Run, fanIn, most int,
	newRun func(group []*spill.Run) *spill.RunWriter,
) (left []*spill.Run, err error) {
	full := func(_, fanIn int) int { return fanIn }
	return reduce(ctx, opt, runs, fanIn, max(most, fanIn), newRun, full)
}

func reduce(
	ctx context.Context, opt Options, runs []*spill.Run, fanIn, most int,
	newRun func(group []*spill.Run) *spill.RunWriter, size func(runs, fanIn int) int,
) (left []*spill.Run, err error) {
	if len(runs) > fanIn && fanIn < 2 {
		return runs, fmt.Errorf(
			"merge: %d runs cannot be merged %d at a time: allow more memory or open "+
				"files",
			len(runs), fanIn,
		)
	}
	left = slices.Clone(runs)
	for len(left) > most {
		from, to := nextGroup(left, size(len(left), fanIn))
		group := slices.Clone(left[from:to])
		merged, err := mergeGroup(ctx, opt, group, runs, newRun(group))
		if err != nil {
			return left, err
		}
		left = slices.Replace(left, from, to, merged)
		for _, run := range group {
			err = errors.Join(err, run.Close())
		}
		if err != nil {
			return left, err
		}
	}

	return left, nil
}

// nextGroup returns the next neighbors to merge: the group of the given size with the fewest
// records.
func nextGroup(runs []*spill.Run, size int) (from, to int) {
	var records int64
	for _, r := range runs[:size] {
		records += r.Records()
	}
	fewest := records
	for i := size; i < len(runs); i++ {
		records += runs[i].Records() - runs[i-size].Records()
		if records < fewest {
			fewest = records
			from = i - size + 1
		}
	}

	return from, from + size
}

func mergeGroup(
	ctx context.Context, opt Options, group, runs []*spill.Run, w *spill.RunWriter,
) (*spill.Run, error) {
	if err := mergeCombined(ctx, opt, group, runs, w); err != nil {
		w.Abort()
		return nil, err
	}
	return w.Finish()
}

// mergeCombined merges a group to a run, and combines its records if opt says so.
func mergeCombined(
	ctx context.Context, opt Options, group, runs []*spill.Run, w *spill.RunWriter,
) error {
	if opt.Combine == nil {
		return mergeSome(ctx, opt, group, runs, w)
	}
	combiner := opt.Combine(w)
	if err := mergeSome(ctx, opt, group, runs, combiner); err != nil {
		return err
	}
	return combiner.Flush(ctx)
}

// mergeSome merges a group. It changes the input of a DisorderError from the index in the group
// to the index in runs. Such an input is always one of the original runs, because merged runs are
// in order.
func mergeSome(
	ctx context.Context, opt Options, group, runs []*spill.Run, w device.BlockWriter,
) error {
	err := Merge(ctx, opt, group, w)
	disorder, ok := errors.AsType[*DisorderError](err)
	if ok {
		disorder.Input = slices.Index(runs, group[disorder.Input])
	}
	return err
}
