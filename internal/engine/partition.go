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

// runPartition sends every record to a part, sorts the parts and appends them. Parts are
// determined by the leading digits of the keys or by splitters from the sample. If there is
// little memory, parts are fewer and larger, and those that do not fit into a chunk are
// partitioned again.
func runPartition(ctx context.Context, r *Run, c *plan.Candidate) error {
	p := &partitioning{
		r:         r,
		candidate: c,
		meter:     r.Meter,
	}
	if r.Input.Data.Records() < 0 {
		return p.sortStream(ctx)
	}
	return p.sort(ctx, r.Input.Data, r.Facts.Sample.Sorted(), c.Chunks, r.Output)
}

// partitioning is a partition of the input, or of an oversized part.
type partitioning struct {
	r         *Run
	candidate *plan.Candidate
	meter     *Meter // the meter of the run, or a separate one for a part
	depth     int    // 0 for the input, 1 for an oversized part of it, and so on
}

func (p *partitioning) sort(
	ctx context.Context, data chunker.Dataset, keys []uint64, parts int, w device.BlockWriter,
) error {
	split, err := p.scatter(ctx, data, keys, parts)
	if err != nil {
		return err
	}
	return p.sortParts(ctx, split, w)
}

// scatter sends every record to its part, in a single pass. keys is a sorted sample.
func (p *partitioning) scatter(
	ctx context.Context, data chunker.Dataset, keys []uint64, parts int,
) ([]*chunker.Partition, error) {
	p.meter.begin(plan.StagePartition, atInput, p.r.Input.DataBytes())
	defer func() { p.meter.end(p.r.Input.Bytes()) }()

	s := &p.r.Plan.Sizes
	opt, fit := plan.FitParts(p.r.Facts, s, data.Records(), parts)
	c := chunker.NewClassifier(keys, fit)
	if err := p.r.beginSpill(p.candidate); err != nil {
		return nil, err
	}
	if err := p.r.pool.closeFree(); err != nil {
		return nil, err
	}
	return chunker.Scatter(ctx, p.r.Input.Keyer, data, c, p.r.spill, opt)
}

// sortParts sorts the parts that fit into a chunk, several at a time, and the others one by one
// in between.
func (p *partitioning) sortParts(
	ctx context.Context, parts []*chunker.Partition, w device.BlockWriter,
) error {
	p.meter.begin(plan.StageParts, atOutput, p.r.Input.Bytes())
	defer func() { p.meter.end(p.r.Input.Bytes()) }()

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

// readNext starts reading the first part that is not empty. It returns nil if none exists or if
// it is oversized.
func (p *partitioning) readNext(ctx context.Context, parts []*chunker.Partition) (device.Source, error) {
	i := slices.IndexFunc(parts, func(part *chunker.Partition) bool { return part.Records() > 0 })
	if i < 0 || p.isOversized(parts[i]) {
		return nil, nil
	}
	src, err := parts[i].Cut(p.candidate.ChunkRecords)
	input.ReadAhead(ctx, src, p.r.Facts.ReadAhead())
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
	chunk, err := p.r.pool.load(ctx, src)
	if err != nil {
		return err
	}
	if err := part.Close(); err != nil {
		p.r.pool.put(chunk)
		return err
	}

	group.Go(func() error {
		defer p.r.pool.put(chunk)
		return p.r.sortTo(ctx, chunk, w, false)
	})
	return nil
}

// maxDepth limits nested partitions. Each level costs a pass over the data and is worthwhile only
// if the previous one made progress, whereas a merge always makes progress.
const maxDepth = 3

// sortOversized sorts a part that exceeds a chunk. If all keys are equal, the part is already
// sorted. If a sample shows different keys, the part is partitioned again by the following
// digits. Otherwise its runs are merged.
func (p *partitioning) sortOversized(
	ctx context.Context, part *chunker.Partition, w device.BlockWriter,
) error {
	defer part.Close()

	if part.AllEqual {
		return part.Run.CopyTo(ctx, p.r.Plan.Sizes.Workers, w)
	}
	inner := &partitioning{
		r:         p.r,
		candidate: p.candidate,
		meter:     &Meter{},
		depth:     p.depth + 1,
	}
	if chunk := p.candidate.ChunkRecords; part.Records() > chunk && inner.depth < maxDepth {
		sample, err := part.Sample(ctx, p.r.Input.Keyer, plan.SampleKeys)
		if err != nil {
			return err
		}
		if keys := sample.Sorted(); len(keys) > 1 && !plan.Frequent(keys, len(keys)/2) {
			return inner.sort(ctx, part, keys, plan.PartsOf(part.Records(), chunk), w)
		}
	}

	m := &merging{
		r:         p.r,
		candidate: p.candidate,
		data:      part,
		to:        w,
		meter:     &Meter{},
	}
	return m.run(ctx)
}
