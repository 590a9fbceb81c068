package extsort

import (
	"context"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	sinks "github.com/extsort/extsort/merge/output"
)

// byPartition sends every record to one of about parts parts by its leading digits or between splitters taken
// from the sample, sorts part after part and appends them to w. Where memory allows fewer parts they are larger, and
// those that do not fit a chunk are partitioned in their turn.
func (s *sorting) byPartition(ctx context.Context, data chunker.Dataset, sample []uint64, parts int, w device.BlockWriter) error {
	slices.Sort(sample)
	opt, parts := s.scatterOptions(data.Records(), parts)
	split, err := s.scatter(ctx, data, chunker.NewClassifier(sample, parts), opt)
	if err != nil {
		return err
	}
	if s.depth == 0 {
		s.meter.begin(stageParts, atOutput, s.bytesIn())
		defer s.endPhase()
	}
	return s.sortParts(ctx, split, w)
}

// scatterOptions settles how a pass over records fills so many parts or, where memory is too little, fewer: every worker
// has a block of each part in memory, and the smaller the blocks, the larger their index.
func (j *job) scatterOptions(records int64, parts int) (opt plan.Scatter, fit int) {
	opt = plan.Scatter{Workers: j.opt.Workers, UnitBytes: plan.MaxUnitBytes}
	for opt.UnitBytes > minScatterBlock && int64(opt.UnitBytes)*int64(16*opt.Workers) > j.budget {
		opt.UnitBytes /= 2
	}
	reserved := j.indexBytes(j.blockBytes)
	for fit = parts; ; fit -= max(fit/8, 1) {
		for block := j.scatterBlock(); ; block /= 2 {
			opt.BlockBytes = max(block/j.size, 1) * j.size
			index := j.indexEntries(records*int64(j.size)/int64(opt.BlockBytes) + int64(fit*opt.Workers))
			if index <= reserved+j.budget/8 && opt.Memory(fit)+index <= reserved+j.budget || fit <= 2 {
				return opt, fit
			}
			if block <= minScatterBlock {
				break
			}
		}
	}
}

// scatterBlock is the size of the blocks of parts where memory is not short: that of the rest of the run, or what the
// CPU reads at a time.
func (j *job) scatterBlock() int {
	if j.devices[0].Info().Kind == device.CPU {
		return min(j.blockBytes, cpuReadBytes)
	}
	return j.blockBytes
}

// cpuReadBytes is what a worker of the CPU device reads at a time, so that it stays in the cache: blocks of that size
// are read straight to where they go.
const cpuReadBytes = 256 << 10

// minScatterBlock is a page.
const minScatterBlock = 4 << 10

func (s *sorting) scatter(ctx context.Context, data chunker.Dataset, c *chunker.Classifier, opt plan.Scatter) ([]*chunker.Part, error) {
	if s.depth == 0 {
		s.meter.begin(stagePartition, atInput, data.Records()*int64(s.size))
		defer s.endPhase()
	}
	if err := s.beginSpill(c.Parts() * opt.Workers); err != nil {
		return nil, err
	}
	s.pool.close()
	return chunker.Scatter(ctx, s.keyer, data, c, s.spill, opt)
}

// sortParts sorts the parts that fit a chunk, several at a time, and between them those that do not.
func (s *sorting) sortParts(ctx context.Context, parts []*chunker.Part, w device.BlockWriter) error {
	group, groupCtx := errgroup.WithContext(ctx)
	base := int64(0)
	var err error
	for _, part := range parts {
		n := part.Records()
		target := sinks.Offset(base, w)
		switch {
		case n == 0:
		case s.depth > 0 || part.AllEqual() || n > s.capacity:
			// These use all the memory or all the workers: nothing else may run beside them.
			if err = group.Wait(); err == nil {
				err = s.sortOversized(ctx, part, target)
			}
			group, groupCtx = errgroup.WithContext(ctx)
		default:
			err = s.startPart(groupCtx, group, part, target)
		}
		if base += n; err != nil {
			break
		}
	}
	if failed := group.Wait(); failed != nil {
		return failed
	}
	return err
}

// startPart loads a part and lets its sorting and writing go on beside the loading of the next one.
func (s *sorting) startPart(ctx context.Context, group *errgroup.Group, part *chunker.Part, w device.BlockWriter) error {
	src, err := part.Cut(s.capacity)
	if err != nil {
		return err
	}
	chunk, err := s.load(ctx, src)
	if err != nil {
		return err
	}
	part.Close()
	group.Go(func() error {
		defer s.pool.put(chunk)
		return s.sortAndStore(ctx, chunk, w)
	})
	return nil
}

// maxDepth bounds partitions within partitions: each is worth its pass over the data only if the one before it
// made progress, and a merge always does.
const maxDepth = 3

// sortOversized sorts a part that needs more than a chunk: one whose keys are all equal is in order as it is;
// one whose sample has other keys is partitioned again, by the digits that follow; else its runs are merged.
func (s *sorting) sortOversized(ctx context.Context, part *chunker.Part, w device.BlockWriter) error {
	defer part.Close()
	if part.AllEqual() {
		return copyPart(ctx, part, s.opt.Workers, w)
	}
	inner := &sorting{job: s.job, pool: s.pool, out: s.out, depth: s.depth + 1}
	if part.Records() > s.capacity && inner.depth < maxDepth {
		sample, err := part.Sample(s.keyer, sampleSize)
		if err != nil {
			return err
		}
		if keys := sample.Prefixes; spreads(keys) {
			parts := int(float64(part.Records())/(partFill*float64(s.capacity))) + 1
			return inner.byPartition(ctx, part, keys, parts, w)
		}
	}
	return inner.byMerge(ctx, part, w)
}

// spreads reports whether no key makes up half of the sample or more.
func spreads(keys []uint64) bool {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	half := len(sorted) / 2
	for i := 0; i+half < len(sorted); i++ {
		if sorted[i] == sorted[i+half] {
			return false
		}
	}
	return len(sorted) > 1
}

// copyPart writes the records of a part as they stand.
func copyPart(ctx context.Context, part *chunker.Part, workers int, w device.BlockWriter) error {
	blocks := part.Run.Blocks()
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range workers {
		group.Go(func() error {
			var buffer []byte
			for {
				i := int(next.Add(1)) - 1
				if i >= len(blocks) || ctx.Err() != nil {
					return ctx.Err()
				}
				buffer = slices.Grow(buffer[:0], part.Run.BlockBytes(i))
				recs, err := part.Run.ReadBlock(i, buffer[:part.Run.BlockBytes(i)])
				if err == nil {
					err = w.WriteBlock(ctx, blocks[i].First, recs)
				}
				if err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}
