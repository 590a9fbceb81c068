package engine

import (
	"context"
	"errors"
	"math"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
)

// sortStream partitions a stream of which nobody knows how long it is. What fits one chunk is sorted in core. Else
// the first chunk becomes a run, whose keys cut the parts; where they are not those of the stream's start, what comes
// cannot be known, and is sorted into more runs, which are merged.
func (p *partitioning) sortStream(ctx context.Context) (err error) {
	r := p.r
	m := &merging{r: r, candidate: p.candidate, data: r.Input.Data, to: r.Output, meter: p.meter, most: 1}
	m.beginRuns()
	if err = m.sortRuns(ctx); err == nil && len(m.runs) > 0 {
		first := &chunker.Part{Run: m.runs[0]}
		var sample plan.Sample
		if sample, err = first.Sample(r.Input.Keyer, plan.SampleKeys); err == nil {
			return p.goOn(ctx, m, first, sample.Sorted())
		}
	}
	m.endStage()
	return err
}

// goOn sorts what follows the first run, whose keys in order it is told, with it.
func (p *partitioning) goOn(ctx context.Context, m *merging, first *chunker.Part, keys []uint64) error {
	r := p.r
	if r.Facts.Asked.Strategy != plan.Partition && plan.Drift(r.Facts.Sample.Sorted(), keys) {
		r.change(plan.Partition, plan.Merge, "the keys of the first chunk are not those of the stream's start")
		r.Result.Strategy, m.most = plan.Merge, 0
		err := m.sortRuns(ctx)
		if m.endStage(); err == nil {
			err = m.finish(ctx)
		}
		return err
	}
	m.endStage()
	all := &resumed{r.Input.Data, []device.Source{first.Source(0, len(first.Blocks())), m.next}}
	err := p.sort(ctx, all, keys, p.candidate.Chunks, r.Output)
	return errors.Join(err, first.Close())
}

// resumed is a stream from its start on, of which some records have been read: sources give those and what has been
// cut.
type resumed struct {
	chunker.Dataset
	sources []device.Source
}

// Split gives one source of all records.
func (d *resumed) Split(int) []device.Source { return []device.Source{d} }

// Next reads from the first source that has records.
func (d *resumed) Next(most int, place func(first int64, n int) []byte) (int64, int, error) {
	for len(d.sources) > 0 {
		if first, n, err := d.sources[0].Next(most, place); n > 0 || err != nil {
			return first, n, err
		}
		if d.sources = d.sources[1:]; len(d.sources) > 0 {
			continue
		}
		rest, err := d.Dataset.Cut(math.MaxInt64)
		if err != nil {
			return 0, 0, err
		}
		if rest != nil {
			d.sources = append(d.sources, rest)
		}
	}
	return 0, 0, nil
}
