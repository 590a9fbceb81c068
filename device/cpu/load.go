package cpu

import (
	"context"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/radix"
)

// Load reads and scatters in one go, unit by unit.
func (e *engine[K, E, W]) Load(ctx context.Context, src device.Source) (int64, error) {
	return e.load(ctx, src, nil)
}

// load is Load of what is selected; nil: everything.
func (e *engine[K, E, W]) load(ctx context.Context, src device.Source, s *selection[K]) (int64, error) {
	defer seconds(&e.stats.Load, time.Now())
	e.stats = device.Stats{Algorithm: MSD}
	e.leaves = e.leaves[:0]
	e.pool.Reset()
	l := loading[K, E, W]{engine: e, intake: newIntake(src, &e.sizes), selection: s}
	s.begin(&l.intake, e.kind.fromPrefix)
	l.workers = workersFor(e.sizes.workers, l.expected, e.unit)
	if err := e.makeWorkers(l.workers); err != nil {
		return 0, err
	}
	if err := e.kind.begin(src, l.workers); err != nil {
		return 0, err
	}
	if err := l.run(ctx); err != nil {
		return 0, err
	}
	low, high := s.bounds()
	e.leaves = e.kind.collect(l.workers, l.buckets, leaf[K]{low: low, high: high})
	e.stats.Records = l.loaded.Load()
	for i := range e.leaves {
		e.stats.Counted += e.leaves[i].counted
	}
	return e.stats.Records, nil
}

// loading is one Load.
type loading[K radix.Element, E arena.Word, W scratch] struct {
	engine *engine[K, E, W]
	intake
	selection *selection[K] // nil: everything
	workers   int
	buckets   radix.Buckets[K]
}

// share is a worker's share of all buckets.
type share interface {
	SizeOf(bucket int) int64              // the elements of a bucket
	DropFrom(bucket int) (elements int64) // empties the buckets from one on
	Settle()                              // ends what is under way in this processor
	Finish()                              // ends the scatter
}

// run reads the first unit, which tells how to cut buckets if no sample does, and then the rest.
func (l *loading[K, E, W]) run(ctx context.Context) error {
	e := l.engine
	recs, first, err := l.next(ctx, e.workers[0])
	if err != nil {
		return err
	}
	sample, b := l.choose(recs, first)
	l.buckets = b
	e.kind.reset(l.workers, b, radix.NewEqualities(sample, b, e.maxEqualities(), 0))
	var shares []share
	for _, w := range e.workers[:l.workers] {
		shares = append(shares, e.kind.share(w))
	}
	for more := true; more; recs = nil {
		err := e.each(ctx, l.workers, func(ctx context.Context, i int, _ W) error {
			if i > 0 {
				return l.work(ctx, i, nil, 0)
			}
			return l.work(ctx, i, recs, first)
		})
		if err == nil { // workers that were not admitted again may have left some
			err = e.each(ctx, 1, func(ctx context.Context, i int, _ W) error { return l.work(ctx, i, nil, 0) })
		}
		if err == nil {
			more, err = l.selection.makeRoom(&l.buckets, shares)
		}
		if err != nil {
			return err
		}
	}
	return each(ctx, shares, func(_ context.Context, _ int, s share) error { s.Finish(); return nil })
}

// work scatters recs, if any, and what it reads as long as it is admitted and there is more.
func (l *loading[K, E, W]) work(ctx context.Context, worker int, recs []byte, first int64) (err error) {
	kind, w := l.engine.kind, l.engine.workers[worker]
	defer kind.share(w).Settle()
	for {
		if len(recs) > 0 {
			kind.scatter(l, w, recs, first)
			kind.note(worker, first, int64(len(recs)/l.record))
		}
		if !kind.admit(worker) {
			return nil
		}
		if recs, first, err = l.next(ctx, w); err != nil {
			return err
		}
		if len(recs) == 0 {
			kind.note(worker, 0, 0)
			return nil
		}
	}
}

// next reads the next unit.
func (l *loading[K, E, W]) next(ctx context.Context, w W) (recs []byte, first int64, err error) {
	return l.intake.next(ctx, func(first int64, n int) []byte { return l.engine.kind.place(w, first, n) })
}

// choose cuts the range of the sample into buckets, or that of the first unit where there is no sample.
func (l *loading[K, E, W]) choose(recs []byte, first int64) (sample []K, b radix.Buckets[K]) {
	e := l.engine
	count := e.buckets(l.expected)
	if count == 1 || len(recs) == 0 {
		return nil, radix.Buckets[K]{Shift: e.kind.tieBits()}
	}
	for _, p := range l.sample(&e.opt, count) {
		sample = append(sample, e.kind.fromPrefix(p))
	}
	if len(sample) == 0 {
		sample = e.kind.keysOf(e.workers[0], recs, first)
	}
	sample, low, high := l.selection.cutFrom(sample)
	return sample, radix.FittedBuckets(sample, low, high, count, e.kind.tieBits())
}

// widen guesses the range of all elements from that of n of them: beyond each end of n uniformly distributed
// values lies one gap between neighbours on average.
func widen[E radix.Element](low, high E, n int) (E, E) {
	gap := (high - low) / E(n)
	return low - min(low, gap), high + min(^E(0)-high, gap)
}
