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

// keeps reports whether a checkpoint keeps the runs. It keeps only runs of the input.
func (m *merging) keeps() bool {
	return m.r.Kept != nil && m.meter == m.r.Meter
}

// resume takes over the runs of a checkpoint. Their records need not be read again.
func (m *merging) resume() error {
	if !m.keeps() || m.r.Kept.State().Runs == 0 {
		return nil
	}
	s, err := m.r.Spill(m.candidate.RoomBytes)
	if err != nil {
		return err
	}
	m.runs = s.Kept()
	m.done = slices.Clone(m.runs)
	for _, run := range m.runs {
		m.r.Input.skip(run.Origin)
		m.left -= run.Origin.Records
		bytes := run.Origin.Records * int64(m.r.Input.size)
		m.r.Result.BytesKept += bytes
		m.meter.add(atSpill, int(bytes))
	}

	return nil
}

// passOver skips the records of finished runs that come next. It returns how many of the given
// number of records come before the next finished run.
func (m *merging) passOver(most int64) (int64, error) {
	for len(m.done) > 0 {
		next := m.done[0].Origin
		if gap := next.First - m.at; gap > 0 {
			return min(most, gap), nil
		}
		if _, err := m.data.Cut(next.Records); err != nil {
			return 0, err
		}
		m.at += next.Records
		m.done = m.done[1:]
	}

	return most, nil
}

// mergeLast makes the last merge. It continues after the records that a checkpoint has recorded
// as written.
func (m *merging) mergeLast(ctx context.Context, opt merge.Options, runs []*spill.Run) error {
	if !m.keeps() || m.r.Output.kept == nil {
		return merge.Merge(ctx, opt, runs, m.to)
	}
	l := newLastMerge(m.r, runs)
	gaps, err := l.resume(ctx)
	if err == nil {
		err = m.mergeRest(ctx, opt, l, runs, gaps)
	}
	return errors.Join(err, m.r.Kept.Wait())
}

// mergeRest writes the gaps, and then the records after everything that is written. It regularly
// records the progress in the checkpoint.
func (m *merging) mergeRest(
	ctx context.Context, opt merge.Options, l *lastMerge, runs []*spill.Run, gaps []gap,
) error {
	limit := opt.Limit
	for _, g := range gaps {
		opt.Limit = g.to - g.from.records
		if err := m.mergeFrom(ctx, opt, runs, g.from, m.r.Output); err != nil {
			return err
		}
	}

	opt.Limit = limit
	if limit >= 0 {
		opt.Limit = max(limit-l.base.records, 0)
	}
	opt.Mark = l.mark
	opt.MarkRecords = max(min(m.candidate.ChunkRecords, maxMarkBytes/int64(m.r.Input.size)), 1)
	m.r.Output.sum = l.noteBlock
	return m.mergeFrom(ctx, opt, runs, l.base, l)
}

// mergeFrom merges the runs starting at a position.
func (m *merging) mergeFrom(
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
