package engine

import (
	"context"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
	"github.com/extsort/extsort/merge/output"
)

// If only one record is written for each key, a merge combines equal keys early: when it writes a
// run, and when it merges runs to another run. So data with few distinct keys needs little space
// for temporary files.
//
//	chunk ─ sort ─ Folds ─▶ run ─┐
//	chunk ─ sort ─ Folds ─▶ run ─┴ merge ─ Folds ─▶ output
//
// The records of such runs are results of Form.Aggregation, which may be longer than the records of
// the input, because they contain the count and other appended results.

// combination returns the Aggregation for early combination, or nil if records must not be combined
// before the last merge.
func combination(r *Run) *format.Aggregation {
	a := r.Output.form.Aggregation
	isOfOtherStrategy := r.spill != nil // it has records of the input
	if a == nil || !a.InAnyGrouping() || isOfOtherStrategy {
		return nil
	}
	return a
}

// isLonger reports whether the results of an Aggregation are longer than the records.
func isLonger(a *format.Aggregation) bool {
	return len(a.Appended()) > 0
}

// combiner returns Folds that write partial results to w as blocks for a run.
func combiner(r *Run, a *format.Aggregation, w device.BlockWriter) *output.Folds {
	return output.NewFolds(output.FoldForm{
		Aggregation: a,
		Partial:     true,
		BlockBytes:  runBlockBytes(r, a.Partial()),
	}, w)
}

// runBlockBytes returns the size of a block of results, such that a merge needs no more memory for
// it than for a block of records.
func runBlockBytes(r *Run, partial *format.Aggregation) int {
	blockBytes := r.Plan.Sizes.BlockBytes
	records := max(blockBytes/r.Input.size, 1)
	memory := plan.MergeBuffer(r.Input.Keyer, records)
	const some = 8 // a multiple of the words
	each := plan.MergeBuffer(partial.Keyer(), some) / some
	results := max(int(memory/max(each, 1)), 1)
	return min(results*partial.Size(), max(blockBytes, partial.Size()))
}

// keyer returns the Keyer of the records in the runs.
func (m *runMaker) keyer() *format.Keyer {
	if m.combine != nil {
		return m.combine.Partial().Keyer()
	}
	return m.run.Input.Keyer
}

// mergeOptions returns the options for merging the runs.
func (m *runMaker) mergeOptions() merge.Options {
	opt := m.run.mergeOptions()
	if m.combine == nil {
		return opt
	}
	partial := m.combine.Partial()
	opt.Keyer = partial.Keyer()
	opt.BlockBytes = runBlockBytes(m.run, partial)
	opt.Combine = func(w device.BlockWriter) merge.Combiner { return combiner(m.run, partial, w) }
	return opt
}

// storeCombined writes a sorted chunk as partial results.
func (m *runMaker) storeCombined(ctx context.Context, chunk device.Chunk, w *spill.RunWriter) error {
	results := combiner(m.run, m.combine, w)
	if err := m.run.store(ctx, chunk, m.run.Meter.watched(atSpill, results), false); err != nil {
		return err
	}
	return results.Flush(ctx)
}
