package engine

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
)

// sortStream sorts a stream of unknown length. It sorts the first chunks to runs. If the stream
// ends there, it merges them. Otherwise it partitions these records and the rest of the stream,
// using the keys of the runs to define the parts. If their distribution differs from that of the
// start of the stream, the keys drift, and the rest of the stream cannot be predicted. It then
// sorts the rest to more runs and merges them.
func (p *partitioning) sortStream(ctx context.Context) error {
	m := &merging{
		r:         p.r,
		candidate: p.candidate,
		data:      p.r.Input.Data,
		to:        p.r.Output,
		meter:     p.meter,
	}
	m.beginRuns()
	asked := p.r.Facts.Request.Strategy == p.candidate.Strategy
	if m.most = plan.RunsOfStream; asked {
		m.most = 1
	}
	if err := m.sortRuns(ctx); err != nil || len(m.runs) == 0 {
		m.endStage()
		return err
	}

	why := "the input ends after so few chunks that they are merged"
	if m.next != nil {
		keys, err := m.sample(ctx)
		if err != nil || asked || !plan.Drift(p.r.Facts.Sample.Sorted(), keys) {
			if m.endStage(); err == nil {
				err = p.partitionRest(ctx, m, keys)
			}
			return err
		}
		why = "the first chunks have other keys than the start of the input"
	}

	p.r.change(p.candidate.Strategy, plan.Merge, why)
	p.r.Result.Strategy = plan.Merge
	m.most = 0
	return m.finish(ctx)
}

// sample returns the sorted keys of some records of all runs.
func (m *merging) sample(ctx context.Context) (keys []uint64, err error) {
	for _, run := range m.runs {
		sample, err := (&chunker.Partition{Run: run}).Sample(
			ctx, m.r.Input.Keyer, plan.SampleKeys/len(m.runs),
		)
		if err != nil {
			return nil, err
		}
		keys = append(keys, sample.Prefixes...)
	}
	slices.Sort(keys)
	return keys, nil
}

// partitionRest partitions the records of the runs and the rest of the stream. keys is a sorted
// sample.
func (p *partitioning) partitionRest(ctx context.Context, m *merging, keys []uint64) error {
	all := &resumed{Dataset: m.data}
	for _, run := range m.runs {
		all.sources = append(all.sources, run.Source(0, run.Blocks()))
	}
	all.sources = append(all.sources, m.next)
	parts, err := p.scatter(ctx, all, keys, p.candidate.Chunks)
	for _, run := range m.runs {
		err = errors.Join(err, run.Close())
	}
	if err == nil {
		err = p.sortParts(ctx, parts, p.r.Output)
	}
	return err
}

// resumed is a stream from its beginning after some records have been read. sources provides
// those, and the records that have been cut.
type resumed struct {
	chunker.Dataset
	sources []device.Source
}

// Split returns a single source of all records.
func (d *resumed) Split(int) []device.Source {
	return []device.Source{d}
}

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
		if rest == nil || err != nil {
			return 0, 0, err
		}
		d.sources = append(d.sources, rest)
	}

	return 0, 0, nil
}
