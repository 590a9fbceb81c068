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

// streamSort sorts a stream of unknown length. It sorts the first chunks into runs. If the stream
// ends there, it merges them. Otherwise it partitions these records and the rest of the stream,
// using the keys of the runs to define the parts. But if the distribution of these keys differs
// from that at the start of the stream, the keys drift, and later keys cannot be predicted. Then it
// sorts the rest of the stream into more runs and merges all runs. It does the same if the runs are
// short because equal keys were combined in them.
type streamSort struct {
	*partitioning
	runs *runMaker
}

func newStreamSort(p *partitioning) *streamSort {
	runs := newRunMaker(p.run, p.candidate, p.run.Input.Data)
	runs.combine = combination(p.run)
	return &streamSort{p, runs}
}

func (s *streamSort) sort(ctx context.Context) error {
	beginChunks(s.run, s.candidate)
	goOn, err := s.start(ctx)
	s.run.Meter.end(s.run.Input.Bytes())
	if err != nil {
		return err
	}
	return goOn(ctx)
}

// start reads the first chunks and returns a function that does the rest. If the rest is a merge,
// all runs have been made.
func (s *streamSort) start(ctx context.Context) (goOn func(context.Context) error, err error) {
	first, err := s.runs.first(ctx)
	switch {
	case err != nil:
		return nil, err
	case first == nil:
		return s.nothing, follow(s.run, s.candidate, plan.OneChunk)
	case first.isLast:
		goOn := func(ctx context.Context) error { return writeOnly(ctx, s.run, first.chunk) }
		return goOn, follow(s.run, s.candidate, plan.OneChunk)
	}

	if err := spillRuns(ctx, s.runs, first, s.firstRuns()); err != nil {
		return nil, err
	}
	if s.runs.next == nil {
		return s.merge, follow(s.run, s.candidate, plan.FewChunks)
	}
	if s.areShort() {
		if err := follow(s.run, s.candidate, plan.ShortRuns); err != nil {
			return nil, err
		}
		return s.merge, s.runs.makeRest(ctx)
	}
	keys, err := s.sample(ctx)
	if err != nil {
		return nil, err
	}
	if s.drifts(keys) {
		if err := follow(s.run, s.candidate, plan.KeysDrift); err != nil {
			return nil, err
		}
		return s.merge, s.runs.makeRest(ctx)
	}
	return func(ctx context.Context) error { return s.partition(ctx, keys) }, nil
}

// firstRuns returns how many chunks become runs before the stream is partitioned. One is enough if
// the plan does not merge a short stream.
func (s *streamSort) firstRuns() int {
	if _, mayMerge := s.candidate.On(plan.FewChunks); mayMerge {
		return plan.RunsOfStream
	}
	return 1
}

// areShort reports whether the plan depends on the size of the runs, and combining equal keys has made
// them so short that a merge is faster than a partition of all records.
func (s *streamSort) areShort() bool {
	if _, matters := s.candidate.On(plan.ShortRuns); !matters {
		return false
	}
	read := int64(0)
	left := int64(0)
	for _, run := range s.runs.runs {
		read += run.Origin.Records
		left += run.Records()
	}
	return plan.AreShort(read, left)
}

// drifts reports whether the plan depends on the keys of the first chunks, and these differ from
// the keys of the sample.
func (s *streamSort) drifts(keys []uint64) bool {
	_, matters := s.candidate.On(plan.KeysDrift)
	return matters && plan.Drift(s.run.Facts.Sample.Sorted(), keys)
}

// nothing does nothing, because the stream has no records.
func (s *streamSort) nothing(context.Context) error { return nil }

// merge merges all runs.
func (s *streamSort) merge(ctx context.Context) error {
	return inStage(s.run, plan.StageMerge, atOutput, s.run.Input.Bytes(), func() error {
		return s.runs.merge(ctx, mergeTo(s.run.Output))
	})
}

// sample returns the sorted keys of some records of all runs.
func (s *streamSort) sample(ctx context.Context) (keys []uint64, err error) {
	each := plan.SampleKeys / len(s.runs.runs)
	for _, run := range s.runs.runs {
		part := &chunker.Partition{Run: run, Sorted: true}
		sample, err := part.Sample(ctx, s.run.Input.Keyer, each)
		if err != nil {
			return nil, err
		}
		keys = append(keys, sample.Prefixes...)
	}
	slices.Sort(keys)
	return keys, nil
}

// partition partitions the records of the runs and the rest of the stream. keys is a sorted sample.
func (s *streamSort) partition(ctx context.Context, keys []uint64) error {
	all := &resumed{Dataset: s.run.Input.Data}
	for _, run := range s.runs.runs {
		all.sources = append(all.sources, run.Source(0, run.Blocks()))
	}
	all.sources = append(all.sources, s.runs.next.source)
	parts, err := s.scatterInput(ctx, all, keys)
	if err := errors.Join(err, closeRuns(s.runs.runs)); err != nil {
		return err
	}
	return s.sortPartsOfInput(ctx, parts)
}

// resumed is a stream that starts again at its first record, although some records have already
// been read. sources provides these records and the slice that was cut next.
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
