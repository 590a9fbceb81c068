package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge"
)

// runMerge divides the data by position, sorts each chunk to a run, and merges the runs. If all
// records fit into the first chunk, it writes them directly: this is sorting in core.
func runMerge(ctx context.Context, r *Run, c *plan.Candidate) error {
	return (&merging{
		r:         r,
		candidate: c,
		data:      r.Input.Data,
		to:        r.Output,
		meter:     r.Meter,
	}).run(ctx)
}

// merging is one merge: of the input, or of an oversized part of a partition.
type merging struct {
	r         *Run
	candidate *plan.Candidate
	data      chunker.Dataset
	to        device.BlockWriter
	meter     *Meter // the meter of the run, or a separate one for a part
	at        int64  // index of the first record of the next chunk
	left      int64  // number of records that are not in a chunk yet; negative if not known
	most      int    // maximum number of runs for now; 0 means no limit
	kept      int64  // memory of a chunk that is merged from memory, in bytes

	// next is the source of the chunk after the first most runs; nil if none exists or if it
	// has not been cut.
	next   device.Source
	origin spill.Origin // of the records of next

	// done holds the runs of a checkpoint whose records have not been skipped yet.
	done []*spill.Run

	mu   sync.Mutex // protects the fields below
	runs []*spill.Run
}

func (m *merging) run(ctx context.Context) error {
	m.beginRuns()
	return m.finish(ctx)
}

// finish sorts the remaining chunks and merges all runs.
func (m *merging) finish(ctx context.Context) error {
	err := m.sortRuns(ctx)
	m.endStage()
	if err != nil || len(m.runs) == 0 {
		return err
	}
	if err := m.r.pool.closeFree(); err != nil {
		return err
	}
	slices.SortFunc(m.runs, func(a, b *spill.Run) int {
		return cmp.Compare(a.Origin.First, b.Origin.First)
	})
	return m.mergeRuns(ctx)
}

// sortRuns sorts chunk after chunk to runs. If there is only one chunk, it writes the chunk
// directly and leaves no runs.
func (m *merging) sortRuns(ctx context.Context) error {
	group, groupCtx := safely.WithContext(ctx)
	defer func() { group.Wait() }() // releases the context
	m.left = m.data.Records()
	if err := m.resume(); err != nil {
		return err
	}
	src, origin, err := m.cut()
	if src == nil && len(m.runs) == 0 {
		m.inCore()
		return err
	}

	for i := len(m.runs); src != nil && err == nil && (m.most == 0 || i < m.most); i++ {
		if m.tooMany(i) {
			if err = group.Wait(); err == nil {
				err = m.mergeSome(ctx)
			}
			if err != nil {
				break
			}
			group, groupCtx = safely.WithContext(ctx)
			i = len(m.runs)
		}

		var chunk device.Chunk
		if chunk, err = m.load(groupCtx, src, &origin); err != nil {
			break
		}
		of := origin
		if src, origin, err = m.cut(); err == nil && i == 0 {
			if src == nil {
				return m.storeOnly(ctx, chunk)
			}
			err = m.r.beginSpill(m.candidate)
		}

		if err != nil {
			m.r.pool.put(chunk)
			break
		}

		next := src
		last := src == nil
		group.Go(func() error { return m.sortRun(groupCtx, chunk, of, i, last) })
		group.Go(func() error {
			input.ReadAhead(groupCtx, next, m.r.Facts.ReadAhead())
			return nil
		})
	}

	m.next, m.origin = src, origin
	// The error of a goroutine in the group is the cause; err may only be the resulting
	// cancellation.
	if failed := group.Wait(); failed != nil {
		return failed
	}
	return err
}

// tooMany reports whether the runs exceed their memory although their indexes are in a file. It
// never does so while one more level of merging could handle several times as many.
func (m *merging) tooMany(runs int) bool {
	return m.most == 0 && runs >= fewLevels*m.r.Plan.Sizes.FanIn && m.r.spill.IndexIsFull(runs)
}

// fewLevels is the minimum number of runs, as a multiple of the fan-in, before some of them are
// merged while others are still being made.
const fewLevels = 4

// mergeSome merges the runs so far to half as many. REQUIRES: no chunk is in use
func (m *merging) mergeSome(ctx context.Context) error {
	if err := m.r.pool.closeFree(); err != nil {
		return err
	}
	slices.SortFunc(m.runs, func(a, b *spill.Run) int {
		return cmp.Compare(a.Origin.First, b.Origin.First)
	})
	s := &m.r.Plan.Sizes
	opt := m.r.mergeOptions()
	runs, err := merge.ReduceTo(ctx, opt, m.runs, s.FanIn, len(m.runs)/2, m.r.spill.NewMerged)
	m.runs = runs
	return err
}

// cut returns the source of the next chunk, or nil if none exists.
func (m *merging) cut() (src device.Source, origin spill.Origin, err error) {
	if src, m.next = m.next, nil; src != nil {
		return src, m.origin, nil
	}
	most, err := m.passOver(m.candidate.NextChunk(m.left))
	if err == nil {
		src, err = m.data.Cut(most)
	}
	origin.First = m.at
	origin.Records = most
	if src != nil && m.left >= 0 {
		origin.Records = src.Records()
		m.left -= origin.Records
	}

	m.at += origin.Records
	return src, origin, err
}

// load loads a chunk and adds the checksum of its records to their origin. REQUIRES: nothing else
// is read in the meantime
func (m *merging) load(
	ctx context.Context, src device.Source, origin *spill.Origin,
) (device.Chunk, error) {
	before := m.r.Input.sum.sum
	chunk, err := m.r.pool.load(ctx, src)
	if err == nil {
		origin.Sum = m.r.Input.sum.sum.Without(before)
	}
	return chunk, err
}

// beginSpill creates the temporary files for runs or parts. It first checks that there is enough
// memory for a merge, because a part may turn out to be too large and need one.
func (r *Run) beginSpill(c *plan.Candidate) error {
	if !r.Plan.Sizes.Merges(r.Facts) {
		return plan.TooLittle(r.Facts)
	}
	_, err := r.Spill(c.RoomBytes)
	return err
}

// storeOnly writes the only chunk: the sort was in core.
func (m *merging) storeOnly(ctx context.Context, chunk device.Chunk) error {
	defer m.r.pool.put(chunk)
	m.inCore()
	m.endStage()
	m.meter.begin(plan.StageWrite, atOutput, m.r.Input.Bytes())
	return m.r.sortTo(ctx, chunk, m.to, true)
}

// inCore records that a single chunk contains everything, which may not have been known in
// advance.
func (m *merging) inCore() {
	if m.meter != m.r.Meter {
		return
	}
	if !m.candidate.Strategy.Properties().HoldsAll {
		m.r.change(
			m.candidate.Strategy, plan.InCore,
			"all records fit in one chunk, so there is nothing to merge",
		)
	}
	m.r.Result.Strategy = plan.InCore
}

// sortRun sorts a loaded chunk and makes it run i. The last run stays in memory if possible; the
// others are spilled.
func (m *merging) sortRun(
	ctx context.Context, chunk device.Chunk, origin spill.Origin, i int, last bool,
) error {
	var run *spill.Run
	err := chunk.Sort(ctx)
	if err == nil && last {
		run, err = m.keep(ctx, chunk, origin, i)
	}
	if run == nil { // otherwise closing the run releases the chunk
		defer m.r.pool.put(chunk)
	}
	if err == nil && run == nil {
		run, err = m.spillRun(ctx, chunk, origin)
	}
	m.set(i, run)
	return err
}

// keep makes run i, the last one, from a sorted chunk in memory. It returns nil if that is not
// possible.
func (m *merging) keep(
	ctx context.Context, chunk device.Chunk, origin spill.Origin, i int,
) (*spill.Run, error) {
	if i == 0 || i >= m.r.Plan.Sizes.FanIn {
		return nil, nil
	}
	kept, err := chunk.Retain(ctx, m.r.Facts.First(), m.r.Plan.Sizes.WithoutMerge(m.r.Facts, i+1))
	if kept == nil || err != nil {
		return nil, err
	}
	m.r.noteChunk(chunk.Stats())
	m.kept += kept.Bytes
	run := spill.KeptRun(m.r.Input.Keyer, kept, func() error { m.r.pool.put(chunk); return nil })
	run.Origin = origin
	m.r.Meter.add(atSpill, int(run.Records())*m.r.Input.size)
	return run, nil
}

// spillRun spills a sorted chunk.
func (m *merging) spillRun(
	ctx context.Context, chunk device.Chunk, origin spill.Origin,
) (*spill.Run, error) {
	writer := m.r.spill.NewRun(origin)
	if err := m.r.store(ctx, chunk, m.r.Meter.watched(atSpill, writer), false); err != nil {
		writer.Abort()
		return nil, err
	}
	return writer.Finish()
}

func (m *merging) set(i int, run *spill.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.runs) <= i {
		m.runs = append(m.runs, nil)
	}
	m.runs[i] = run
}

// mergeRuns merges the runs, in several levels if there are too many for one.
func (m *merging) mergeRuns(ctx context.Context) error {
	m.meter.begin(plan.StageMerge, atOutput, m.r.Input.Bytes())
	defer m.endStage()

	s := &m.r.Plan.Sizes
	opt := m.r.mergeOptions()
	if m.kept > 0 {
		opt.MemoryBytes = s.Without(m.kept)
	}
	m.r.Result.MergeLevels = max(m.r.Result.MergeLevels, plan.Levels(len(m.runs), s.FanIn))
	runs, err := merge.Reduce(ctx, opt, m.runs, s.FanIn, m.r.spill.NewMerged)
	if err == nil {
		err = m.mergeLast(ctx, opt, runs)
	}
	m.r.Result.FanIn = max(m.r.Result.FanIn, len(runs))
	for _, run := range runs {
		err = errors.Join(err, run.Close())
	}
	return err
}

// beginRuns begins the stage of the first chunk. It may not be known yet whether there are more
// chunks.
func (m *merging) beginRuns() {
	n := m.data.Records()
	size := int64(m.r.Input.size)
	if n > m.candidate.ChunkRecords {
		m.meter.begin(plan.StageRuns, atSpill, n*size)
	} else {
		m.meter.begin(plan.StageRead, atInput, n*size)
	}
}

func (m *merging) endStage() { m.meter.end(m.r.Input.Bytes()) }
