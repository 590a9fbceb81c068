package engine

import (
	"context"

	"github.com/extsort/extsort/chunker/plan"
)

// runMerge divides the input by position, sorts each chunk into a run, and merges the runs. If all
// records fit into the first chunk, it writes them directly.
func runMerge(ctx context.Context, r *Run, c *plan.Candidate) error {
	m := &inputMerge{run: r, candidate: c, runs: newRunMaker(r, c, r.Input.Data)}
	m.runs.combine = combination(r)
	beginChunks(r, c)
	if c.SelectedShare > 0 {
		isEnough, err := m.selectFirst(ctx)
		r.Meter.end(r.Input.Bytes())
		switch {
		case err != nil:
			return err
		case isEnough:
			return m.merge(ctx)
		}
		r.restart()
		beginChunks(r, c)
	}
	only, err := m.readAll(ctx)
	r.Meter.end(r.Input.Bytes())

	switch {
	case err != nil:
		return err
	case only != nil:
		return writeOnly(ctx, r, only.chunk)
	case len(m.runs.runs) == 0: // there were no records
		return nil
	}
	return m.merge(ctx)
}

// merge merges the runs.
func (m *inputMerge) merge(ctx context.Context) error {
	return inStage(m.run, plan.StageMerge, atOutput, m.run.Input.Bytes(), func() error {
		return m.runs.merge(ctx, m.mergeLast)
	})
}

// inputMerge is a merge of the input. A checkpoint can keep its runs and its progress: see
// resume.go.
type inputMerge struct {
	run       *Run
	candidate *plan.Candidate
	runs      *runMaker
}

// readAll sorts the input into runs. If the input fits in a single chunk, readAll makes no runs and
// returns the loaded chunk.
func (m *inputMerge) readAll(ctx context.Context) (only *loadedChunk, err error) {
	if err := m.resume(); err != nil {
		return nil, err
	}
	first, err := m.runs.first(ctx)
	if err != nil {
		return nil, err
	}
	if isEmpty := first == nil && len(m.runs.runs) == 0; isEmpty || m.runs.isOnly(first) {
		return first, follow(m.run, m.candidate, plan.OneChunk)
	}
	if first == nil { // all runs are in the checkpoint
		return nil, nil
	}
	return nil, spillRuns(ctx, m.runs, first, allRuns)
}

// beginChunks begins the stage that reads the first chunk. For a stream it is not known yet whether
// there are more chunks.
func beginChunks(r *Run, c *plan.Candidate) {
	if r.Input.Data.Records() > c.ChunkRecords {
		r.Meter.begin(plan.StageRuns, atSpill, r.Input.DataBytes())
	} else {
		r.Meter.begin(plan.StageRead, atInput, r.Input.DataBytes())
	}
}

// spillRuns creates the temporary files and sorts chunks into runs, beginning with a loaded one.
func spillRuns(ctx context.Context, runs *runMaker, first *loadedChunk, limit int) error {
	if err := runs.run.beginSpill(runs.candidate); err != nil {
		runs.run.pool.put(first.chunk)
		return err
	}
	return runs.makeRuns(ctx, first, limit)
}

// beginSpill creates the temporary files for runs or parts. It first checks that there is enough
// memory for a merge, because a part may turn out to be too large and need one.
func (r *Run) beginSpill(c *plan.Candidate) error {
	if !r.Plan.Sizes.Merges(r.Facts) {
		return plan.NewMemoryError(r.Facts)
	}
	_, err := r.Spill(c.RoomBytes)
	return err
}
