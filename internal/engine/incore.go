package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
)

// errOneChunk reports a plan that is wrong: its only chunk does not hold all records, although the
// input has the announced number of records.
var errOneChunk = errors.New("internal error: more than one chunk of records was found; the output is discarded")

// runInCore sorts all records in one chunk.
func runInCore(ctx context.Context, r *Run, c *plan.Candidate) error {
	runs := newRunMaker(r, c, r.Input.Data)
	r.Meter.begin(plan.StageRead, atInput, r.Input.DataBytes())
	only, err := runs.first(ctx)
	r.Meter.end(r.Input.Bytes())

	switch {
	case err != nil || only == nil: // there may be no records
		return err
	case !only.isLast:
		return cmp.Or(runs.readOn(ctx, only), errOneChunk)
	}
	return writeOnly(ctx, r, only.chunk)
}

// readOn reads the remaining chunks and drops them. If a stream is longer than announced, one of
// these reads returns the error.
func (m *runMaker) readOn(ctx context.Context, chunk *loadedChunk) (err error) {
	for chunk != nil && err == nil {
		m.run.pool.put(chunk.chunk)
		chunk, err = m.load(ctx)
	}
	return err
}

// writeOnly sorts the only chunk, which holds all records, and writes it to the output.
func writeOnly(ctx context.Context, r *Run, chunk device.Chunk) error {
	defer r.pool.put(chunk)
	return inStage(r, plan.StageWrite, atOutput, r.Input.Bytes(), func() error {
		return r.sortTo(ctx, chunk, r.Output, true)
	})
}
