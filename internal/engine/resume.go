package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge"
	"github.com/extsort/extsort/merge/output"
)

// resume takes over the runs of a checkpoint. Their records need not be read again.
//
// When the blocks of a run are durable, the run is added to the manifest, the checkpoint's list of
// runs. From time to time, the last merge records its progress there. No two records compare as
// equal (position breaks ties), so the records written so far consist of a prefix of each run, and
// the merge can continue from there.
func (m *inputMerge) resume() error {
	r := m.run
	if r.Checkpoint == nil || r.Checkpoint.State().Runs == 0 {
		return nil
	}
	s, err := r.Spill(m.candidate.RoomBytes)
	if err != nil {
		return err
	}
	finished := s.CheckpointRuns()
	m.runs.runs = finished
	m.runs.cutter.finished = slices.Clone(finished)
	for _, run := range finished {
		r.Input.skip(run.Origin)
		m.runs.cutter.left -= run.Origin.Records
		bytes := run.Origin.Records * int64(r.Input.size)
		r.Result.BytesKept += bytes
		r.Meter.add(atSpill, int(bytes))
	}

	return nil
}

// mergeLast makes the last merge. It continues after the records that a checkpoint has recorded
// as written.
func (m *inputMerge) mergeLast(ctx context.Context, opt merge.Options, runs []*spill.Run) error {
	r := m.run
	if r.Checkpoint == nil || r.Output.resumable == nil {
		return merge.Merge(ctx, opt, runs, r.Output)
	}
	l := newLastMerge(r, runs)
	gaps, err := l.resume(ctx)
	if err == nil {
		err = m.mergeRest(ctx, opt, l, runs, gaps)
	}
	if failed := r.Checkpoint.Wait(); !errors.Is(err, failed) {
		return errors.Join(err, failed)
	}
	return err
}

// mergeRest writes the gaps, and then the records after everything that is written. It regularly
// records the progress in the checkpoint.
func (m *inputMerge) mergeRest(
	ctx context.Context, opt merge.Options, l *lastMerge, runs []*spill.Run, gaps []gap,
) error {
	r := m.run
	limit := opt.Limit
	for _, g := range gaps {
		opt.Limit = g.to - g.from.records
		if err := mergeFrom(ctx, opt, runs, g.from, r.Output); err != nil {
			return err
		}
	}

	opt.Limit = limit
	if limit >= 0 {
		opt.Limit = max(limit-l.base.records, 0)
	}
	opt.Mark = l.mark
	opt.MarkRecords = max(min(m.candidate.ChunkRecords, maxMarkBytes/int64(r.Input.size)), 1)
	r.Output.sum = l.noteBlock
	return mergeFrom(ctx, opt, runs, l.base, l)
}

// mergeFrom merges the runs starting at a position.
func mergeFrom(
	ctx context.Context, opt merge.Options, runs []*spill.Run, from position,
	to device.BlockWriter,
) error {
	rest := make([]*spill.Run, len(runs))
	for i, run := range runs {
		var err error
		if rest[i], err = run.From(from.taken[i]); err != nil {
			return err
		}
	}
	return merge.Merge(ctx, opt, rest, output.Offset(from.records, to))
}
