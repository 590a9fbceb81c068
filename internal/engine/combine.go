package engine

import (
	"context"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
	"github.com/extsort/extsort/merge/output"
)

// If only one record is written for each key, and nothing is appended to it, a merge combines equal
// keys early: when it writes a run, and when it merges runs into another run. So data with few
// distinct keys needs little space for temporary files. Results with appended fields are longer
// than records, so they would need more space if most keys are different. If they save space, the
// caller appends them to each record as it is read (Input.Appended), and the Form appends nothing.
//
//	chunk ─ sort ─ Folds ─▶ run ─┐
//	chunk ─ sort ─ Folds ─▶ run ─┴ merge ─ Folds ─▶ output
//
// The records of such runs are results of Form.Aggregation, which have the layout of the input.

// combination returns the Aggregation for early combination, or nil if records must not be combined
// before the last merge.
func combination(r *Run) *format.Aggregation {
	a := r.Output.form.Aggregation
	isOfOtherStrategy := r.spill != nil // the spill files already contain uncombined records
	if a == nil || !a.CombinesRuns() || isOfOtherStrategy {
		return nil
	}
	return a
}

// combiner returns Folds that write partial results to w as blocks for a run.
func (m *runMaker) combiner(w device.BlockWriter) *output.Folds {
	return output.NewFolds(output.FoldForm{
		Aggregation: m.combine,
		Partial:     true,
		Memory:      &m.foldMemory,
		BlockBytes:  m.run.Plan.Sizes.BlockBytes,
	}, w)
}

// mergeOptions returns the options for merging the runs.
func (m *runMaker) mergeOptions() merge.Options {
	opt := m.run.mergeOptions()
	if m.combine != nil {
		opt.Combine = func(w device.BlockWriter) merge.Combiner { return m.combiner(w) }
	}
	return opt
}

// storeCombined writes a sorted chunk as partial results.
func (m *runMaker) storeCombined(ctx context.Context, chunk device.Chunk, w *spill.RunWriter) error {
	results := m.combiner(w)
	if err := m.run.store(ctx, chunk, m.run.Meter.watched(atSpill, results), false); err != nil {
		return err
	}
	return results.Flush(ctx)
}
