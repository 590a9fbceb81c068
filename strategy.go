package extsort

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge"
)

// sorting is the work of one job, strategy by strategy. Both strategies work on any dataset, so that a part of a
// partition that is still too large is sorted in its turn.
type sorting struct {
	*job
	pool      *pool
	out       *output
	depth     int   // 0: the input; 1: a part of it that was too large, and so on
	keptBytes int64 // of memory that a chunk occupies which is merged from there
}

// byMerge cuts data by position, makes a run of each chunk and merges the runs into w. When all records fit the
// first chunk it writes them from there.
func (s *sorting) byMerge(ctx context.Context, data chunker.Dataset, w device.BlockWriter) error {
	s.beginRuns(data)
	runs, err := s.sortRuns(ctx, data, w)
	s.endPhase()
	if err != nil || len(runs) == 0 {
		return err
	}
	s.pool.closeFree()
	return s.mergeRuns(ctx, runs, w)
}

// sortRuns sorts chunk after chunk, each into a run. It returns no runs when there was but one chunk, which has
// then gone to w.
func (s *sorting) sortRuns(ctx context.Context, data chunker.Dataset, w device.BlockWriter) ([]*spill.Run, error) {
	runs := &runList{}
	group, groupCtx := errgroup.WithContext(ctx)
	cuts := s.cutsOf(data)
	src, err := cuts.next(data)
	for i := 0; src != nil && err == nil; i++ {
		var chunk device.Chunk
		if chunk, err = s.load(groupCtx, src); err != nil {
			break
		}
		if src, err = cuts.next(data); err == nil && i == 0 {
			if src == nil {
				return nil, s.storeOnly(ctx, chunk, w)
			}
			err = s.beginSpill(0)
		}
		if err != nil {
			s.pool.put(chunk)
			break
		}
		last := src == nil
		group.Go(func() error { return s.sortRun(groupCtx, chunk, runs, i, last) })
		if next, ok := src.(input.Foreseen); ok {
			group.Go(func() error { next.ReadAhead(groupCtx, cacheable()); return nil })
		}
	}
	// What a goroutine of the group failed with is the cause; err may only be the cancellation that followed.
	if failed := group.Wait(); failed != nil {
		err = failed
	}
	return runs.runs, err
}

// beginSpill makes the temporary files of runs, or of parts, one of which may turn out too large and be cut into runs: the memory
// is there to merge them.
func (s *sorting) beginSpill(extents int) error {
	if !s.canMerge() {
		return s.tooLittle()
	}
	return s.openSpill(s.plan.TempBytes, extents)
}

// load fills a free chunk from src.
func (s *sorting) load(ctx context.Context, src device.Source) (device.Chunk, error) {
	chunk, err := s.pool.get(ctx)
	if err != nil {
		return nil, err
	}
	n, err := chunk.Load(ctx, src)
	if due := src.Records(); err == nil && due >= 0 && n != due {
		err = fmt.Errorf("%d of the %d records of a chunk were loaded", n, due)
	}
	if err != nil {
		s.pool.put(chunk)
		return nil, err
	}
	return chunk, nil
}

// storeOnly writes the only chunk: everything was in core.
func (s *sorting) storeOnly(ctx context.Context, chunk device.Chunk, w device.BlockWriter) error {
	defer s.pool.put(chunk)
	if s.depth == 0 {
		s.report.Strategy = InCore
		s.endPhase()
		s.meter.begin(stageWrite, atOutput, s.bytesIn())
	}
	if err := chunk.Sort(ctx); err != nil {
		return err
	}
	return s.drain(ctx, chunk, w)
}

// drain writes a sorted chunk for which there is no other use.
func (s *sorting) drain(ctx context.Context, chunk device.Chunk, w device.BlockWriter) error {
	err := chunk.Drain(ctx, s.limit(), w)
	s.noteChunk(chunk.Stats())
	return err
}

// sortAndStore sorts a loaded chunk and writes it.
func (s *sorting) sortAndStore(ctx context.Context, chunk device.Chunk, w device.BlockWriter) error {
	if err := chunk.Sort(ctx); err != nil {
		return err
	}
	return s.store(ctx, chunk, w)
}

// store writes a sorted chunk.
func (s *sorting) store(ctx context.Context, chunk device.Chunk, w device.BlockWriter) error {
	err := chunk.Store(ctx, s.limit(), w)
	s.noteChunk(chunk.Stats())
	return err
}

// limit is how many records of a sorted chunk or of a merge can be among those that are asked for; -1: all.
func (j *job) limit() int64 {
	if j.opt.Limit > 0 && !j.opt.Unique {
		return j.opt.Limit
	}
	return -1
}

// sortRun sorts a loaded chunk and makes run i of it: the last one stays in memory if it can, others are spilled.
func (s *sorting) sortRun(ctx context.Context, chunk device.Chunk, runs *runList, i int, last bool) error {
	err := chunk.Sort(ctx)
	if err == nil && last {
		var run *spill.Run
		if run, err = s.keepRun(ctx, chunk, i); run != nil {
			runs.set(i, run)
			return nil // the chunk is free when the run is closed
		}
	}
	defer s.pool.put(chunk)
	if err != nil {
		return err
	}
	run, err := s.spillRun(ctx, chunk)
	runs.set(i, run)
	return err
}

// spillRun spills a sorted chunk.
func (s *sorting) spillRun(ctx context.Context, chunk device.Chunk) (*spill.Run, error) {
	writer := s.spill.NewRun()
	if err := s.store(ctx, chunk, s.watched(writer)); err != nil {
		writer.Abort()
		return nil, err
	}
	return writer.Finish()
}

// mergeRuns merges runs into w, over several levels when they are too many for one.
func (s *sorting) mergeRuns(ctx context.Context, runs []*spill.Run, w device.BlockWriter) error {
	if s.depth == 0 {
		s.report.Strategy = MergeRuns
		s.meter.begin(stageMerge, atOutput, s.bytesIn())
		defer s.endPhase()
	}
	opt := s.mergeOptions()
	if s.keptBytes > 0 {
		opt.MemoryBytes = s.budget - keepSlack(s.budget) - s.keptBytes
	}
	s.report.MergeLevels = max(s.report.MergeLevels, levelsOf(len(runs), s.fanIn()))
	runs, _, err := merge.Reduce(ctx, opt, runs, s.fanIn(), func() (merge.RunWriter, error) { return s.spill.NewRun(), nil })
	s.report.FanIn = max(s.report.FanIn, len(runs))
	if err == nil {
		_, err = merge.Merge(ctx, opt, runs, w)
	}
	for _, run := range runs {
		err = errors.Join(err, run.Close())
	}
	return err
}

func (j *job) mergeOptions() merge.Options {
	return merge.Options{
		Keyer: j.keyer, Workers: j.opt.Workers, BlockBytes: j.blockBytes, MemoryBytes: j.mergeBytes(), Limit: j.limit(),
	}
}

// mergeBytes is the memory for the buffers of a merge. An eighth of the budget is left for what it has besides: the
// indexes of the runs in the order of their keys, and what the Go heap keeps of the phase before.
func (j *job) mergeBytes() int64 { return j.budget - j.budget/8 }

// beginRuns opens the phase of the first chunk, of which it may not be known yet whether it stays the only one.
func (s *sorting) beginRuns(data chunker.Dataset) {
	if s.depth > 0 {
		return
	}
	if n := data.Records(); n > s.capacity {
		s.meter.begin(stageRuns, atSpill, n*int64(s.size))
		return
	}
	s.meter.begin(stageRead, atInput, data.Records()*int64(s.size))
}

// endPhase closes the open phase, unless this is the work of a part.
func (s *sorting) endPhase() {
	if s.depth == 0 {
		s.meter.end(s.bytesIn())
	}
}

// runList collects runs that are finished in any order.
type runList struct {
	mu   sync.Mutex
	runs []*spill.Run
}

func (l *runList) set(i int, r *spill.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.runs) <= i {
		l.runs = append(l.runs, nil)
	}
	l.runs[i] = r
}
