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

// runPartition sends every record to a part by its leading digits or between splitters taken from the sample, sorts
// part after part and appends them. Where memory allows fewer parts they are larger, and those that do not fit a chunk
// are partitioned in their turn.
func runPartition(ctx context.Context, r *Run, c *plan.Candidate) error {
	p := &partitioning{r: r, candidate: c, meter: r.Meter}
	if r.Input.Data.Records() < 0 {
		return p.sortStream(ctx)
	}
	return p.sort(ctx, r.Input.Data, r.Facts.Sample.Sorted(), c.Chunks, r.Output)
}

// partitioning is a partition of the input, or of a part that was too large.
type partitioning struct {
	r         *Run
	candidate *plan.Candidate
	meter     *Meter // the run's, unless this is the work of a part
	depth     int    // 0: the input; 1: a part of it that was too large, and so on
}

func (p *partitioning) sort(ctx context.Context, data chunker.Dataset, keys []uint64, parts int,
	w device.BlockWriter) error {
	split, err := p.scatter(ctx, data, keys, parts)
	if err != nil {
		return err
	}
	return p.sortParts(ctx, split, w)
}

// scatter is the pass that sends every record to its part, by the keys of a sample in order.
func (p *partitioning) scatter(ctx context.Context, data chunker.Dataset, keys []uint64,
	parts int) ([]*chunker.Part, error) {
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

// sortParts sorts the parts that fit a chunk, several at a time, and between them those that do not.
func (p *partitioning) sortParts(ctx context.Context, parts []*chunker.Part, w device.BlockWriter) error {
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
			// These use all the memory or all the workers: nothing else may run beside them.
			if err = group.Wait(); err == nil {
				err = p.sortOversized(ctx, part, target)
			}
			group, groupCtx = safely.WithContext(ctx)
		default:
			if err = p.startPart(groupCtx, group, part, src, target); err == nil {
				src, err = p.foresee(groupCtx, parts[i+1:])
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

func (p *partitioning) isOversized(part *chunker.Part) bool {
	return part.AllEqual || part.Records() > p.candidate.ChunkRecords
}

// foresee begins to read the first part that is not empty; nil: none is, or it is oversized.
func (p *partitioning) foresee(ctx context.Context, parts []*chunker.Part) (device.Source, error) {
	i := slices.IndexFunc(parts, func(part *chunker.Part) bool { return part.Records() > 0 })
	if i < 0 || p.isOversized(parts[i]) {
		return nil, nil
	}
	src, err := parts[i].Cut(p.candidate.ChunkRecords)
	input.ReadAhead(ctx, src, p.r.Facts.ReadAhead())
	return src, err
}

// startPart loads a part and lets its sorting and writing go on beside the loading of the next one. src is its source;
// nil: it has none yet.
func (p *partitioning) startPart(ctx context.Context, group *safely.Group, part *chunker.Part, src device.Source,
	w device.BlockWriter) (err error) {
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

// maxDepth bounds partitions within partitions: each is worth its pass over the data only if the one before it made
// progress, and a merge always does.
const maxDepth = 3

// sortOversized sorts a part that needs more than a chunk: one whose keys are all equal is in order as it is; one
// whose sample has other keys is partitioned again, by the digits that follow; else its runs are merged.
func (p *partitioning) sortOversized(ctx context.Context, part *chunker.Part, w device.BlockWriter) error {
	defer part.Close()
	if part.AllEqual {
		return part.Run.CopyTo(ctx, p.r.Plan.Sizes.Workers, w)
	}
	inner := &partitioning{r: p.r, candidate: p.candidate, meter: &Meter{}, depth: p.depth + 1}
	if chunk := p.candidate.ChunkRecords; part.Records() > chunk && inner.depth < maxDepth {
		sample, err := part.Sample(ctx, p.r.Input.Keyer, plan.SampleKeys)
		if err != nil {
			return err
		}
		if keys := sample.Sorted(); len(keys) > 1 && !plan.Frequent(keys, len(keys)/2) {
			return inner.sort(ctx, part, keys, plan.PartsOf(part.Records(), chunk), w)
		}
	}
	m := &merging{r: p.r, candidate: p.candidate, data: part, to: w, meter: &Meter{}}
	return m.run(ctx)
}
