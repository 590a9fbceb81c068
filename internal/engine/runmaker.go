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
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge"
	"github.com/extsort/extsort/merge/output"
)

// A runMaker sorts a dataset into runs and merges them. Its callers load the first chunk, because
// it may turn out to be the only one, and then choose what to do:
//
//	first ─┬─▶ the only chunk: it is written without any run
//	       └─▶ makeRuns ─▶ merge
//
// The callers are runInCore, inputMerge, streamSort, and partitioning.mergePart.
type runMaker struct {
	run       *Run
	candidate *plan.Candidate
	cutter    cutter
	next      *slice // the records of the next chunk; nil after the last one

	keptBytes int64 // memory of the last run, if it stays in memory

	combine *format.Aggregation // combines equal keys in runs; nil: runs contain all records

	foldMemory output.FoldMemory // for combining them

	mu   sync.Mutex // protects runs while chunks are sorted
	runs []*spill.Run
}

// A loadedChunk holds records that have not been sorted yet.
type loadedChunk struct {
	chunk  device.Chunk
	origin spill.Origin
	isLast bool
}

func newRunMaker(r *Run, c *plan.Candidate, data chunker.Dataset) *runMaker {
	return &runMaker{
		run:       r,
		candidate: c,
		cutter:    cutter{data: data, candidate: c, left: data.Records()},
	}
}

// first loads the first chunk. It returns nil if no records are left.
func (m *runMaker) first(ctx context.Context) (*loadedChunk, error) {
	var err error
	if m.next, err = m.cutter.next(); err != nil {
		return nil, err
	}
	return m.load(ctx)
}

// load loads the next chunk and adds the checksum of its records to their origin. It returns nil
// if no records are left. REQUIRES: nothing else is read in the meantime
func (m *runMaker) load(ctx context.Context) (*loadedChunk, error) {
	records := m.next
	if records == nil {
		return nil, nil
	}
	before := m.run.Input.sum.sum
	chunk, err := m.run.pool.load(ctx, records.source)
	if err != nil {
		return nil, err
	}
	records.origin.Sum = m.run.Input.sum.sum.Without(before)
	if m.next, err = m.cutter.next(); err != nil {
		m.run.pool.put(chunk)
		return nil, err
	}
	return &loadedChunk{chunk, records.origin, m.next == nil}, nil
}

// isOnly reports whether a chunk holds all records.
func (m *runMaker) isOnly(c *loadedChunk) bool {
	return c != nil && c.isLast && len(m.runs) == 0
}

// allRuns is the limit of makeRuns for a dataset that is sorted to its end.
const allRuns = 0

// makeRuns sorts chunk after chunk, beginning with a loaded one, until all records are in runs or
// there are as many runs as the limit.
func (m *runMaker) makeRuns(ctx context.Context, chunk *loadedChunk, limit int) error {
	group, groupCtx := safely.WithContext(ctx)
	defer func() { _ = group.Wait() }() // releases the context

	var err error
	for chunk != nil && err == nil {
		m.start(groupCtx, group, chunk)
		if limit != allRuns && len(m.runs) >= limit {
			break
		}
		if m.next != nil && m.isFull(limit) {
			if err = group.Wait(); err == nil {
				err = m.mergeSome(ctx)
			}
			if err != nil {
				return err
			}
			group, groupCtx = safely.WithContext(ctx)
		}
		chunk, err = m.load(groupCtx)
	}

	// The error of a goroutine in the group is the cause; err may only be the resulting
	// cancellation.
	if failed := group.Wait(); failed != nil {
		return failed
	}
	return err
}

// makeRest sorts the remaining chunks into runs.
func (m *runMaker) makeRest(ctx context.Context) error {
	chunk, err := m.load(ctx)
	if err != nil {
		return err
	}
	return m.makeRuns(ctx, chunk, allRuns)
}

// start sorts a chunk into the next run, concurrently with the caller. Meanwhile the system reads
// the records of the chunk after it.
func (m *runMaker) start(ctx context.Context, group *safely.Group, c *loadedChunk) {
	i := m.reserve()
	group.Go(func() error {
		run, err := m.sort(ctx, c, i)
		m.set(i, run)
		return err
	})
	if m.next == nil {
		return
	}
	source := m.next.source
	group.Go(func() error {
		input.ReadAhead(ctx, source, m.run.Plan.Sizes.ReadAheadBytes)
		return nil
	})
}

// reserve returns the index of the next run.
func (m *runMaker) reserve() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = append(m.runs, nil)
	return len(m.runs) - 1
}

func (m *runMaker) set(i int, run *spill.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs[i] = run
}

// sort sorts a chunk into run i. The last run stays in memory if possible; the others are spilled.
func (m *runMaker) sort(ctx context.Context, c *loadedChunk, i int) (run *spill.Run, err error) {
	err = c.chunk.Sort(ctx)
	if err == nil && c.isLast {
		run, err = m.keep(ctx, c, i)
	}
	if run != nil {
		return run, err // closing the run releases the chunk
	}
	defer m.run.pool.put(c.chunk)
	if err != nil {
		return nil, err
	}
	return m.spill(ctx, c)
}

// keep makes run i, the last one, from a sorted chunk in memory. It returns nil if the chunk can't
// stay in memory.
func (m *runMaker) keep(ctx context.Context, c *loadedChunk, i int) (*spill.Run, error) {
	r := m.run
	if i == 0 || i >= r.Plan.Sizes.FanIn {
		return nil, nil
	}
	kept, err := c.chunk.Retain(ctx, r.Facts.First(), r.Plan.Sizes.WithoutMerge(r.Facts, i+1))
	if kept == nil || err != nil {
		return nil, err
	}
	r.noteChunk(c.chunk.Stats())
	m.keptBytes = kept.Bytes
	run := spill.RetainedRun(r.Input.Keyer, kept, func() error {
		r.pool.put(c.chunk)
		return nil
	})
	run.Origin = c.origin
	r.Meter.add(atSpill, int(run.Records())*r.Input.size)
	return run, nil
}

// spill spills a sorted chunk.
func (m *runMaker) spill(ctx context.Context, c *loadedChunk) (*spill.Run, error) {
	r := m.run
	writer := r.spill.NewRun(c.origin)
	store := m.store
	if m.combine != nil {
		store = m.storeCombined
	}
	if err := store(ctx, c.chunk, writer); err != nil {
		writer.Abort()
		return nil, err
	}
	return writer.Finish()
}

// store writes a sorted chunk.
func (m *runMaker) store(ctx context.Context, chunk device.Chunk, w *spill.RunWriter) error {
	return m.run.store(ctx, chunk, m.run.Meter.watched(atSpill, w), false)
}

// fewLevels is the minimum number of runs, as a multiple of the fan-in, before some of them are
// merged while others are still being made.
const fewLevels = 4

// isFull reports whether the runs need too much memory even though their indexes are in a file. It
// returns false below fewLevels times the fan-in, because one more merge level can handle several
// times more runs.
func (m *runMaker) isFull(limit int) bool {
	runs := len(m.runs)
	return limit == allRuns && runs >= fewLevels*m.run.Plan.Sizes.FanIn && m.run.spill.IndexIsFull(runs)
}

// mergeSome merges some of the runs, so that half as many remain. REQUIRES: no chunk is in use
func (m *runMaker) mergeSome(ctx context.Context) error {
	if err := m.run.pool.closeFree(); err != nil {
		return err
	}
	m.order()
	opt := m.mergeOptions()
	fanIn := m.run.Plan.Sizes.FanIn
	runs, err := merge.ReduceTo(ctx, opt, m.runs, fanIn, len(m.runs)/2, m.run.spill.NewMerged)
	m.runs = runs
	return err
}

// order puts the runs into the order of their records, on which the order of equal keys depends.
func (m *runMaker) order() {
	slices.SortFunc(m.runs, func(a, b *spill.Run) int {
		return cmp.Compare(a.Origin.First, b.Origin.First)
	})
}

// A lastMerger merges runs to the output. The number of runs does not exceed the fan-in.
type lastMerger func(ctx context.Context, opt merge.Options, runs []*spill.Run) error

// mergeTo returns a lastMerger that writes to w.
func mergeTo(w device.BlockWriter) lastMerger {
	return func(ctx context.Context, opt merge.Options, runs []*spill.Run) error {
		return merge.Merge(ctx, opt, runs, w)
	}
}

// merge merges the runs, in several levels if there are too many for one, and closes them.
// REQUIRES: no chunk is in use, except that of a run in memory
func (m *runMaker) merge(ctx context.Context, last lastMerger) error {
	r := m.run
	if err := r.pool.closeFree(); err != nil {
		return err
	}
	m.order()
	fanIn := r.Plan.Sizes.FanIn
	opt := m.mergeOptions()
	if m.keptBytes > 0 {
		opt.MemoryBytes = r.Plan.Sizes.Without(m.keptBytes)
	}

	r.Result.MergeLevels = max(r.Result.MergeLevels, plan.Levels(len(m.runs), fanIn))
	runs, err := merge.Reduce(ctx, opt, m.runs, fanIn, r.spill.NewMerged)
	if err == nil {
		err = last(ctx, opt, runs)
	}
	r.Result.FanIn = max(r.Result.FanIn, len(runs))
	return errors.Join(err, closeRuns(runs))
}

// closeRuns closes runs and returns all errors.
func closeRuns(runs []*spill.Run) (err error) {
	for _, run := range runs {
		err = errors.Join(err, run.Close())
	}
	return err
}
