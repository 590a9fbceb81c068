package engine

import (
	"context"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/merge/sets"
)

// Combine runs a set operation on the inputs of a run and of others. The output of the run, if it
// has one, receives the result.
func Combine(ctx context.Context, opt sets.Options, r *Run, others ...*Run) (sets.Counts, error) {
	r.Result.Strategy = r.Plan.Strategy
	r.Result.MergeLevels = 1
	bytes := r.Input.DataBytes()
	opt.Inputs = setInputs(r)
	for _, other := range others {
		opt.Inputs = append(opt.Inputs, setInputs(other)...)
		if more := other.Input.DataBytes(); bytes >= 0 && more >= 0 {
			bytes += more
		} else {
			bytes = -1
		}
		input.AllowRemote(other.Input.Files, other.Plan.Sizes.RequestBytes)
	}
	r.Result.FanIn = len(opt.Inputs)
	if r.Output != nil {
		opt.Outputs.Result = r.Output
	}
	input.AllowRemote(r.Input.Files, r.Plan.Sizes.RequestBytes)
	opt.Workers = r.Plan.Sizes.Workers
	opt.BlockRecords = opt.RecordsPerBlock(r.Facts.Request.MemoryBytes / 4)

	r.Meter.begin(plan.StageMerge, atInput, bytes)
	defer func() { r.Meter.end(r.Input.Bytes()) }()
	return sets.Run(ctx, opt)
}

// setInputs returns the inputs of a run for a set operation.
func setInputs(r *Run) (all []sets.Input) {
	for _, file := range r.Input.Files {
		all = append(all, sets.Input{Records: file.Sequence(), Keyer: r.Input.Keyer, Read: r.Input.countRead})
	}
	return all
}
