package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
)

// RunWriter stores a run. After all blocks, Finish makes the run that can be read; Abort gives up what was
// written.
type RunWriter interface {
	device.BlockWriter
	Finish() (*chunker.Run, error)
	Abort() error
}

// Reduce merges runs into fewer until fanIn are left at most, so that one merge can finish. Only neighbours are
// merged, and the result takes their place, which keeps equal keys in order. Merged runs are closed as soon as
// what replaces them is complete.
//
// A limit holds for every merge: a record that is not among the first of its group is not among the first of all.
//
// The runs that are left belong to the caller, also after an error, when no record has been lost: those of merges
// that were complete are among them.
func Reduce(ctx context.Context, opt Options, runs []*chunker.Run, fanIn int,
	newRun func() (RunWriter, error)) ([]*chunker.Run, Stats, error) {
	var stats Stats
	if len(runs) > fanIn && fanIn < 2 {
		return runs, stats, fmt.Errorf("merge: %d runs cannot become fewer when only %d can be merged at once: give it more memory or files",
			len(runs), fanIn)
	}
	runs = slices.Clone(runs)
	for len(runs) > fanIn {
		from, to := nextGroup(runs, fanIn)
		merged, s, err := mergeGroup(ctx, opt, runs[from:to], newRun)
		stats = stats.add(s)
		if err != nil {
			return runs, stats, err
		}
		group := slices.Clone(runs[from:to])
		runs = slices.Replace(runs, from, to, merged)
		if err := closeRuns(group); err != nil {
			return runs, stats, err
		}
	}
	return runs, stats, nil
}

// nextGroup chooses the neighbours to merge next. The first group is just as large that all later merges, the
// last one included, have the full fan-in (Knuth, volume 3, section 5.4.9); of all groups of that size it is the
// one with the fewest records.
func nextGroup(runs []*chunker.Run, fanIn int) (from, to int) {
	size := 1 + (len(runs)-1)%(fanIn-1)
	if size == 1 {
		size = fanIn
	}
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

func mergeGroup(ctx context.Context, opt Options, group []*chunker.Run,
	newRun func() (RunWriter, error)) (*chunker.Run, Stats, error) {
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

func closeRuns(runs []*chunker.Run) error {
	var faults []error
	for _, r := range runs {
		faults = append(faults, r.Close())
	}
	return errors.Join(faults...)
}
