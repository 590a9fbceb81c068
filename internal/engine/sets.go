package engine

import (
	"context"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/merge"
	"github.com/extsort/extsort/merge/sets"
)

// One group of records of a join gets 1/groupShare of the memory limit.
const groupShare = 8

// Combine runs a set operation on the inputs of r and of other runs. The output of r, if it has
// one, receives the result.
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
	opt.Interrupt = r.Interrupt
	opt.BlockRecords = opt.RecordsPerBlock(r.Facts.Request.MemoryBytes / 4)
	groupBytes := r.Facts.Request.MemoryBytes / groupShare
	if small := r.Facts.Request.BlockBytes; small > 0 { // in tests
		opt.BlockRecords = max(small/r.Input.size, 1)
		groupBytes = int64(small)
	}

	if opt.Join != nil {
		ofB := r
		if len(others) > 0 {
			ofB = others[0]
		}
		opt.Join.GroupBytes = groupBytes
		opt.Join.NewRun = func(context.Context) (sets.TemporaryRun, error) {
			s, err := ofB.Spill(-1)
			if err != nil {
				return nil, err
			}
			return &groupRun{RunWriter: s.NewRun(spill.Origin{}), size: ofB.Input.size}, nil
		}
	}

	r.Meter.begin(plan.StageMerge, atInput, bytes)
	defer func() { r.Meter.end(r.Input.Bytes()) }()
	return sets.Run(ctx, opt)
}

// setInputs returns the inputs of a run for a set operation.
func setInputs(r *Run) (all []sets.Input) {
	for _, file := range r.Input.Files {
		in := sets.Input{Records: file.Sequence(), Keyer: r.Input.Keyer, Read: r.Input.countRead}
		if file.IsCached() {
			in.At = &merge.Sorted{Records: file.Records, ReadRecords: file.ReadRecords}
		}
		all = append(all, in)
	}
	return all
}

// A groupRun stores records of a join with one key in a spill file.
type groupRun struct {
	*spill.RunWriter
	size int        // record size in bytes
	run  *spill.Run // nil until all records have been written
	buf  []byte
}

// Replay calls f with all records, in order.
func (g *groupRun) Replay(ctx context.Context, f func(recs []byte) error) error {
	if g.run == nil {
		run, err := g.Finish()
		if err != nil {
			return err
		}
		g.run = run
		g.buf = make([]byte, run.LargestBlock()*g.size)
	}
	blocks := g.run.Cursor(0, g.run.Blocks())
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b, err := blocks.Next()
		if b == nil || err != nil {
			return err
		}
		recs, err := g.run.ReadBlock(b, g.buf[:b.Records*g.size])
		if err != nil {
			return err
		}
		if err := f(recs); err != nil {
			return err
		}
	}
}

// Close releases the storage.
func (g *groupRun) Close() error {
	if g.run == nil {
		g.Abort()
		return nil
	}
	return g.run.Close()
}
