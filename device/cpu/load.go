package cpu

import (
	"context"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// Load reads and scatters in one go, unit by unit.
func (c *chunk[E]) Load(ctx context.Context, src device.Source) (int64, error) {
	return c.load(ctx, src, nil)
}

// load is Load of what is selected; nil: everything.
func (c *chunk[E]) load(ctx context.Context, src device.Source, s *selection[E]) (int64, error) {
	defer seconds(&c.stats.Load, time.Now())
	c.stats = device.Stats{Algorithm: Algorithm}
	c.leaves = c.leaves[:0]
	c.pool.Reset()
	if err := c.mapRecords(src); err != nil {
		return 0, err
	}
	l := loading[E]{chunk: c, intake: newIntake(src, &c.sizes), selection: s}
	s.begin(&l.intake, c.codec.fromPrefix)
	l.count, l.workers = c.buckets(l.expected), workersFor(c.sizes.workers, l.expected, c.unit)
	if err := l.run(ctx); err != nil {
		return 0, err
	}
	var whole leaf[E]
	whole.low, whole.high = s.bounds()
	c.leaves = c.collect(c.leaves, c.workers[:l.workers], l.buckets, whole)
	c.stats.Records = l.loaded.Load()
	for _, leaf := range c.leaves {
		c.stats.Counted += leaf.counted
	}
	return c.stats.Records, nil
}

// loading is one Load.
type loading[E radix.Element] struct {
	chunk *chunk[E]
	intake
	selection *selection[E] // nil: everything
	workers   int
	count     int // of buckets wanted
	buckets   radix.Buckets[E]
}

// run reads the first unit, which tells how to cut buckets if no sample does, and then the rest.
func (l *loading[E]) run(ctx context.Context) error {
	c := l.chunk
	if err := c.makeWorkers(l.workers); err != nil {
		return err
	}
	c.lendUnits(c.workers[:l.workers])
	first := c.workers[0]
	recs, at, err := l.next(ctx, first)
	if err != nil {
		return err
	}
	var heavy *radix.Heavies[E]
	l.buckets, heavy = l.choose(first, recs, at)
	for _, w := range c.workers[:l.workers] {
		w.scatter.Reset(l.buckets.Count(), 0, len(c.pool.Zones))
		w.scatter.CountHeavy(heavy)
		w.radix.Passes = 0
	}
	for more := true; more; {
		err := c.each(ctx, l.workers, func(ctx context.Context, w *worker[E]) error {
			if w == first {
				l.scatter(w, recs, at)
			}
			return l.work(ctx, w)
		})
		if err != nil {
			return err
		}
		recs = nil
		if more, err = l.selection.makeRoom(&l.buckets, l.droppers()); err != nil {
			return err
		}
	}
	return c.each(ctx, l.workers, func(_ context.Context, w *worker[E]) error {
		w.scatter.Finish()
		return nil
	})
}

// selected leaves out the elements that are not to be loaded.
func (l *loading[E]) selected(elems []E) []E {
	kept := l.selection.within(elems)
	if len(kept) < len(elems) {
		l.leaveOut(int64(len(elems) - len(kept)))
	}
	return kept
}

func (l *loading[E]) droppers() (all []dropper) {
	for _, w := range l.chunk.workers[:l.workers] {
		all = append(all, w.scatter)
	}
	return all
}

// work reads and scatters until there is no more, or no room.
func (l *loading[E]) work(ctx context.Context, w *worker[E]) error {
	for {
		recs, first, err := l.next(ctx, w)
		if err != nil {
			return err
		}
		if len(recs) == 0 {
			w.scatter.Settle()
			return nil
		}
		l.scatter(w, recs, first)
	}
}

// next reads the next unit.
func (l *loading[E]) next(ctx context.Context, w *worker[E]) (recs []byte, first int64, err error) {
	return l.intake.next(ctx, func(first int64, n int) []byte { return l.chunk.codec.place(w.unit, first, n) })
}

// scatter distributes the elements of a unit.
func (l *loading[E]) scatter(w *worker[E], recs []byte, first int64) {
	size := l.chunk.record
	for len(recs) > 0 {
		n := min(len(w.elems), len(recs)/size)
		w.scatter.Add(&l.buckets, l.selected(l.chunk.codec.extract(w.elems, recs[:n*size], first)))
		recs, first = recs[n*size:], first+int64(n)
	}
}

// choose cuts the range of the sample into buckets, or that of the first unit where there is no sample. It also chooses
// what to count.
func (l *loading[E]) choose(w *worker[E], recs []byte, first int64) (radix.Buckets[E], *radix.Heavies[E]) {
	c := l.chunk
	tieBits := c.codec.tieBits(0)
	if l.count == 1 || len(recs) == 0 {
		return radix.Buckets[E]{Shift: tieBits}, nil
	}
	var sample []E
	for _, p := range l.sample(&c.opt, l.count) {
		sample = append(sample, c.codec.fromPrefix(p))
	}
	if len(sample) == 0 {
		sample = l.elements(w, recs, first)
	}
	sample, low, high := l.selection.cutFrom(sample)
	b := radix.FittedBuckets(sample, low, high, l.count, tieBits)
	return b, radix.HeaviesOf(sample, b, c.maxHeavies())
}

// elements gives those of a unit.
func (l *loading[E]) elements(w *worker[E], recs []byte, first int64) []E {
	size := l.chunk.record
	elems := make([]E, 0, len(recs)/size)
	for len(recs) > 0 {
		n := min(len(w.elems), len(recs)/size)
		elems = append(elems, l.chunk.codec.extract(w.elems, recs[:n*size], first)...)
		recs, first = recs[n*size:], first+int64(n)
	}
	return elems
}

// widen guesses the range of all elements from that of n of them: beyond each end of n uniformly distributed
// values lies one gap between neighbours on average.
func widen[E radix.Element](low, high E, n int) (E, E) {
	gap := (high - low) / E(n)
	return low - min(low, gap), high + min(^E(0)-high, gap)
}

// collect joins the buckets of all workers into leaves. whole is what they were cut of.
func (c *chunk[E]) collect(leaves []leaf[E], workers []*worker[E], b radix.Buckets[E], whole leaf[E]) []leaf[E] {
	for bucket := range b.Count() {
		l := leaf[E]{List: pool.Empty, from: whole.from, zone: workers[0].scatter.ZoneOf(bucket)}
		for _, w := range workers {
			c.pool.Join(&l.List, w.scatter.Lists[bucket])
			heavy, counted := w.scatter.CountOf(bucket)
			l.heavy, l.counted = heavy, l.counted+counted
		}
		if l.count = c.pool.Count(l.List) + l.counted; l.count == 0 {
			continue
		}
		l.low, l.high = b.Span(bucket, whole.low, whole.high)
		leaves = append(leaves, l)
	}
	return leaves
}
