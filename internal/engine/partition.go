package engine

import (
	"context"
	"slices"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge/output"
)

// runPartition sends every record to a part, sorts the parts and appends them. Parts are determined
// by the leading digits of the keys or by splitters from the sample. If there is little memory,
// parts are fewer and larger, and a part that does not fit into a chunk is partitioned again.
func runPartition(ctx context.Context, r *Run, c *plan.Candidate) error {
	p := &partitioning{run: r, candidate: c}
	if r.Input.Data.Records() < 0 {
		return newStreamSort(p).sort(ctx)
	}
	return p.sortInput(ctx, r.Input.Data, r.Facts.Sample.Sorted())
}

// partitioning is a partition of the input, or of an oversized part.
type partitioning struct {
	run       *Run
	candidate *plan.Candidate
	depth     int // 0 for the input, 1 for an oversized part of it, and so on
}

// sortInput partitions the records of the input and sorts the parts. keys is a sorted sample.
func (p *partitioning) sortInput(
	ctx context.Context, data chunker.Dataset, keys []uint64,
) (err error) {
	parts, err := p.scatterInput(ctx, data, keys)
	if err != nil {
		return err
	}
	return p.sortPartsOfInput(ctx, parts)
}

func (p *partitioning) scatterInput(
	ctx context.Context, data chunker.Dataset, keys []uint64,
) (parts []*chunker.Partition, err error) {
	r := p.run
	err = inStage(r, plan.StagePartition, atInput, r.Input.DataBytes(), func() (err error) {
		parts, err = p.scatter(ctx, data, keys, p.candidate.Chunks)
		return err
	})
	return parts, err
}

func (p *partitioning) sortPartsOfInput(ctx context.Context, parts []*chunker.Partition) error {
	r := p.run
	return inStage(r, plan.StageParts, atOutput, r.Input.Bytes(), func() error {
		return p.sortParts(ctx, parts, r.Output)
	})
}

// scatter sends every record to its part, in a single pass. keys is a sorted sample.
func (p *partitioning) scatter(
	ctx context.Context, data chunker.Dataset, keys []uint64, parts int,
) ([]*chunker.Partition, error) {
	r := p.run
	opt, fit := plan.FitPartitions(r.Facts, &r.Plan.Sizes, data.Records(), parts)
	c := chunker.NewClassifier(keys, fit)
	if err := r.beginSpill(p.candidate); err != nil {
		return nil, err
	}
	if err := r.pool.closeFree(); err != nil {
		return nil, err
	}
	if p.depth == 0 { // keys of a stream may be of runs, in which equal keys are combined
		keys = r.Facts.Sample.Sorted()
	}
	if opt.CombinesKeys(r.Facts, keys, fit) {
		return chunker.ScatterCombined(ctx, r.Output.form.Aggregation, data, c, r.spill, opt)
	}
	return chunker.Scatter(ctx, r.Input.Keyer, data, c, r.spill, opt)
}

// sortParts sorts the parts that fit into a chunk, several at a time, and the others one by one
// in between.
func (p *partitioning) sortParts(
	ctx context.Context, parts []*chunker.Partition, w device.BlockWriter,
) error {
	group, groupCtx := safely.WithContext(ctx)
	base := int64(0)
	var src device.Source // of the next part
	var err error

	for i, part := range parts {
		n := part.Records()
		target := output.Offset(base, w)
		switch {
		case n == 0:
		case p.isOversized(part):
			// An oversized part uses all memory or all workers, so nothing else may run at the
			// same time.
			if err = group.Wait(); err == nil {
				err = p.sortOversized(ctx, part, target)
			}
			group, groupCtx = safely.WithContext(ctx)
		default:
			if err = p.startPart(groupCtx, group, part, src, target); err == nil {
				src, err = p.readNext(groupCtx, parts[i+1:])
			}
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

func (p *partitioning) isOversized(part *chunker.Partition) bool {
	return part.AllEqual || part.Records() > p.candidate.ChunkRecords
}

// readNext starts reading the first part that is not empty. It returns nil if all parts are empty
// or if that part is oversized.
func (p *partitioning) readNext(ctx context.Context, parts []*chunker.Partition) (device.Source, error) {
	i := slices.IndexFunc(parts, func(part *chunker.Partition) bool { return part.Records() > 0 })
	if i < 0 || p.isOversized(parts[i]) {
		return nil, nil
	}
	src, err := parts[i].Cut(p.candidate.ChunkRecords)
	input.ReadAhead(ctx, src, p.run.Plan.Sizes.ReadAheadBytes)
	return src, err
}

// startPart loads a part, and then sorts and writes it while the next one is loaded. src is the
// source of the part, or nil.
func (p *partitioning) startPart(
	ctx context.Context, group *safely.Group, part *chunker.Partition, src device.Source,
	w device.BlockWriter,
) (err error) {
	if src == nil {
		if src, err = part.Cut(p.candidate.ChunkRecords); err != nil {
			return err
		}
	}
	chunk, err := p.run.pool.load(ctx, src)
	if err != nil {
		return err
	}
	if err := part.Close(); err != nil {
		p.run.pool.put(chunk)
		return err
	}

	group.Go(func() error {
		defer p.run.pool.put(chunk)
		return p.run.sortTo(ctx, chunk, w, false)
	})
	return nil
}

// keysOfPart is the number of keys in the sample of an oversized part, for each of its new parts.
const keysOfPart = 512

// sampleOf returns the number of keys that the sample of an oversized part should have. Most
// oversized parts are divided into two or three. A small sample is enough for them, and faster: the
// block of each key has to be found in an index.
func (p *partitioning) sampleOf(part *chunker.Partition) int {
	parts := part.Records()/p.candidate.ChunkRecords + 2
	return int(min(plan.SampleKeys, keysOfPart*parts))
}

// sortOversized sorts a part that exceeds a chunk. If all keys are equal, the part is already
// sorted. If a sample shows different keys, the part is partitioned again by the following
// digits. Otherwise its runs are merged.
func (p *partitioning) sortOversized(
	ctx context.Context, part *chunker.Partition, w device.BlockWriter,
) error {
	defer part.Close()

	r := p.run
	if part.AllEqual {
		return part.Run.CopyTo(ctx, r.Plan.Sizes.Workers, w)
	}
	sample, err := part.Sample(ctx, r.Input.Keyer, p.sampleOf(part))
	if err != nil {
		return err
	}
	keys := sample.Sorted()
	parts, condition, isPlanned := p.candidate.OnLargePart(keys, part.Records(), p.depth+1)
	if !isPlanned {
		if err := followPart(r, p.candidate, condition); err != nil {
			return err
		}
	}
	if parts == 0 {
		return p.mergePart(ctx, part, w)
	}
	inner := &partitioning{run: r, candidate: p.candidate, depth: p.depth + 1}
	split, err := inner.scatter(ctx, part, keys, parts)
	if err != nil {
		return err
	}
	return inner.sortParts(ctx, split, w)
}

// mergePart sorts a part into runs and merges them.
func (p *partitioning) mergePart(
	ctx context.Context, part *chunker.Partition, w device.BlockWriter,
) error {
	runs := newRunMaker(p.run, p.candidate, part)
	first, err := runs.first(ctx)
	switch {
	case err != nil || first == nil:
		return err
	case first.isLast:
		defer p.run.pool.put(first.chunk)
		return p.run.sortTo(ctx, first.chunk, w, true)
	}
	if err := spillRuns(ctx, runs, first, allRuns); err != nil {
		return err
	}
	return runs.merge(ctx, mergeTo(w))
}
