package engine

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/merge"
	"github.com/extsort/extsort/merge/output"
)

// keeps reports whether a checkpoint keeps the runs: those of the input.
func (m *merging) keeps() bool { return m.r.Kept != nil && m.meter == m.r.Meter }

// resume takes the runs that a checkpoint has. Their records need not be read again.
func (m *merging) resume() error {
	if !m.keeps() || m.r.Kept.State().Runs == 0 {
		return nil
	}
	s, err := m.r.Spill(m.candidate.Room)
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

// passOver passes over the records of finished runs that come next, and says how many of most records come before
// others.
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

// mergeLast is the last merge. It goes on behind what a checkpoint knows to be written.
func (m *merging) mergeLast(ctx context.Context, opt merge.Options, runs []*spill.Run) error {
	if !m.keeps() || m.r.Output.kept == nil {
		return merge.Merge(ctx, opt, runs, m.to)
	}
	err := m.mergeRest(ctx, opt, newLastMerge(m.r, runs), runs)
	return errors.Join(err, m.r.Kept.Wait())
}

// mergeRest merges what has not been written, and enters from time to time how much has been.
func (m *merging) mergeRest(ctx context.Context, opt merge.Options, l *lastMerge, runs []*spill.Run) error {
	rest := make([]*spill.Run, len(runs))
	for i, run := range runs {
		var err error
		if rest[i], err = run.From(l.parts[i].Written); err != nil {
			return err
		}
	}
	if opt.Limit >= 0 {
		opt.Limit = max(opt.Limit-l.base, 0)
	}
	opt.Mark = l.mark
	opt.MarkRecords = max(min(m.candidate.ChunkRecords, maxMarkBytes/int64(m.r.Input.size)), 1)
	return merge.Merge(ctx, opt, rest, output.Offset(l.base, l))
}

const (
	// maxMarkBytes is how much of the output is written at most from one mark to the next, unless a block is larger.
	maxMarkBytes = 256 << 20

	// maxMarks is how many may be written before writers wait until the last one is entered.
	maxMarks = 2
)

// lastMerge knows how far the last merge has come. It is a BlockWriter of the output.
type lastMerge struct {
	run   *Run
	base  int64           // records that were written before
	parts []spill.RunPart // that these are

	mu      sync.Mutex
	written int64            // records of the output, without a gap
	ends    map[int64]int64  // by first record: of blocks behind a gap
	marks   []*spill.Written // that have not been entered, in order
}

// newLastMerge finds out how far a merge of the same runs had come.
func newLastMerge(r *Run, runs []*spill.Run) *lastMerge {
	l := &lastMerge{run: r, ends: map[int64]int64{}}
	for _, run := range runs {
		l.parts = append(l.parts, spill.RunPart{First: run.Origin.First, Records: run.Origin.Records})
	}
	before := r.Kept.Written()
	same := func(a, b spill.RunPart) bool { return a.First == b.First && a.Records == b.Records }
	if before == nil || !slices.EqualFunc(before.Of, l.parts, same) {
		return l
	}
	l.base, l.written, l.parts = before.Records, before.Records, before.Of
	r.Output.kept.Keep()
	r.Output.records.Add(l.base)
	r.Meter.add(atOutput, int(l.base)*r.Input.size)
	return l
}

// mark takes note of how far the runs are cut.
func (l *lastMerge) mark(records int64, upTo []int64) {
	w := &spill.Written{Records: l.base + records, Of: slices.Clone(l.parts)}
	for i := range w.Of {
		w.Of[i].Written = max(w.Of[i].Written, upTo[i]) // of a run that was written whole, nothing is cut
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks = append(l.marks, w)
}

// WriteBlock writes to the output, and enters a mark when all before it is written.
func (l *lastMerge) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	if err := l.run.Output.WriteBlock(ctx, first, recs); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends[first] = first + int64(len(recs)/l.run.Input.size)
	for end, ok := l.ends[l.written]; ok; end, ok = l.ends[l.written] {
		delete(l.ends, l.written)
		l.written = end
	}
	reached := 0
	for reached < len(l.marks) && l.marks[reached].Records <= l.written {
		reached++
	}
	if reached > 0 && l.run.Kept.SetWritten(l.marks[reached-1], l.sync, reached >= maxMarks) {
		l.marks = l.marks[reached:]
	}
	return nil
}

// sync makes what has been written durable, and worth to be kept.
func (l *lastMerge) sync() error {
	err := l.run.Output.file.Sync()
	if err == nil {
		l.run.Output.kept.Keep()
	}
	return err
}
