package cpu

import (
	"context"
	"errors"
	"slices"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// Load reads and scatters the records unit by unit.
func (p *pipeline[K, E]) Load(
	ctx context.Context,
	src device.Source,
) (int64, error) {
	return p.loadSelected(ctx, src, &selection[K]{span: ^K(0)})
}

// loadSelected loads the selected records.
func (p *pipeline[K, E]) loadSelected(
	ctx context.Context,
	src device.Source,
	s *selection[K],
) (int64, error) {
	p.stats = device.Stats{Algorithm: MSD}
	p.leaves = p.leaves[:0]
	p.pool.Reset()
	l := loading[K, E]{
		pipeline:  p,
		intake:    newIntake(src, &p.sizes),
		selection: s,
	}
	s.estimateRecords(l.intake, &p.opt, p.kind.fromPrefix)
	l.workers = workersFor(p.sizes.workers, l.expected, p.sizes.unitRecords)
	if err := p.makeWorkers(l.workers); err != nil {
		return 0, err
	}
	if err := l.loadAll(ctx); err != nil {
		return 0, err
	}
	p.leaves = p.collectLeaves(l.workers, l.buckets, leaf[K]{
		low:  s.low,
		high: s.high(),
	}, p.order)
	p.stats.Records = l.loaded.Load()
	return p.stats.Records, nil
}

// loading is one call of Load.
type loading[K radix.Element, E arena.Word] struct {
	pipeline *pipeline[K, E]
	*intake
	selection *selection[K]
	workers   int
	buckets   radix.Buckets[K]
}

// loadAll reads the first unit, which determines the buckets if there is no sample, and then the
// rest.
func (l *loading[K, E]) loadAll(ctx context.Context) error {
	e := l.pipeline
	recs, first, err := l.nextUnit(ctx, 0)
	if err != nil {
		return err
	}
	l.chooseBuckets(recs, first)
	for more := true; more; recs = nil {
		if e.order != nil {
			e.order.unitsInProgress = 0
		}
		err := device.Each(ctx, l.workers, func(ctx context.Context, i int) error {
			if i > 0 {
				return l.loadUnits(ctx, i, nil, 0)
			}
			return l.loadUnits(ctx, i, recs, first)
		})
		if err == nil { // workers that were not admitted again may have left records
			err = l.loadUnits(ctx, 0, nil, 0)
		}
		if err == nil {
			more, err = l.dropGreatest()
		}
		if err != nil {
			return err
		}
	}

	return device.Each(ctx, l.workers, func(_ context.Context, i int) error {
		e.workers[i].scatter.Finish()
		return nil
	})
}

// loadUnits scatters recs, if any, and then the units that it reads until it is not admitted or
// there are no more.
func (l *loading[K, E]) loadUnits(
	ctx context.Context,
	worker int,
	recs []byte,
	first int64,
) (err error) {
	w := l.pipeline.workers[worker]
	order := l.pipeline.order
	defer w.scatter.Settle()

	for {
		if len(recs) > 0 {
			l.scatterUnit(w, recs, first)
			if order != nil {
				w.scatter.CopySizes(
					order.noteUnit(worker, first, int64(len(recs)/l.recordBytes)),
				)
			}
		}

		if !order.admit(worker) {
			return nil
		}
		if recs, first, err = l.nextUnit(ctx, worker); err != nil {
			return err
		}
		if len(recs) == 0 {
			return nil
		}
	}
}

func (l *loading[K, E]) scatterUnit(
	w *worker[K, E],
	recs []byte,
	first int64,
) {
	left := 0
	l.eachBatch(w, recs, first, func(keys []K, elems []E) {
		s := l.selection
		if !s.takesAll() {
			within := 0
			if l.pipeline.sizes.whole {
				within = radix.KeepWithinBoth(keys, elems, s.low, s.span)
			} else {
				within = radix.KeepWithin(keys, s.low, s.span)
			}
			left += len(keys) - within
			keys = keys[:within]
			elems = elems[:within]
		}
		w.scatter.Add(&l.buckets, keys, elems)
	})
	l.leaveOut(int64(left)) // once per unit, because all workers share the counter
}

// eachBatch calls f with the elements of a unit and their keys, one batch at a time.
func (l *loading[K, E]) eachBatch(
	w *worker[K, E],
	recs []byte,
	first int64,
	f func(keys []K, elems []E),
) {
	for len(recs) > 0 {
		n := min(len(w.batchKeys), len(recs)/l.recordBytes)
		f(l.pipeline.kind.extract(w, recs[:n*l.recordBytes], first))
		recs = recs[n*l.recordBytes:]
		first += int64(n)
	}
}

// nextUnit reads the next unit of a worker.
func (l *loading[K, E]) nextUnit(
	ctx context.Context,
	worker int,
) (recs []byte, first int64, err error) {
	return l.intake.nextUnit(ctx, func(first int64, n int) []byte {
		if loaded := l.pipeline.loaded; loaded != nil {
			return loaded.Bytes()[int(first)*l.recordBytes:][:n*l.recordBytes]
		}
		return l.pipeline.workers[worker].unit[:n*l.recordBytes]
	})
}

// chooseBuckets divides the range of the sample, or of the first unit if there is no sample, into
// buckets.
func (l *loading[K, E]) chooseBuckets(recs []byte, first int64) {
	e := l.pipeline
	tieBits := e.kind.tieBits(0)
	count := e.sizes.bucketsFor(l.expected)
	l.buckets = radix.Buckets[K]{Shift: tieBits}
	var sample []K

	if count > 1 && len(recs) > 0 {
		sample = l.sampleForBuckets(count)
		if len(sample) == 0 {
			l.eachBatch(e.workers[0], recs, first, func(keys []K, _ []E) {
				sample = append(sample, keys...)
			})
		}
		var low, high K
		sample, low, high = l.selection.selectSample(sample)
		l.buckets = radix.FittedBuckets(sample, low, high, count, tieBits)
	}

	e.order.reset(l.buckets.Count(), l.workers)
	majority := radix.MajorityKeys(
		sample,
		l.buckets,
		e.sizes.maxEqualities(),
		0,
	)
	for _, w := range e.workers[:l.workers] {
		w.scatter.Reset(
			l.buckets.Count(),
			0,
			len(e.pool.Zones),
			radix.BlocksAhead,
			majority,
		)
		w.radix.Passes = 0
	}
}

// sampleForBuckets returns the keys of the sample that are selected, or a part of them if they are
// more than a number of buckets needs. A selection may take only a few of all keys, so the others
// have to be left out first: one remaining key would say nothing about the range of the selection.
func (l *loading[K, E]) sampleForBuckets(buckets int) (sample []K) {
	e := l.pipeline
	prefixes := l.samplePrefixes(&e.opt)
	selected := len(prefixes)
	if !l.selection.takesAll() {
		selected = 0
		for _, prefix := range prefixes {
			if l.selection.includes(e.kind.fromPrefix(prefix)) {
				selected++
			}
		}
	}

	step := max(1, selected/(sampledPerBucket*buckets))
	next := 0
	for _, prefix := range prefixes {
		key := e.kind.fromPrefix(prefix)
		if !l.selection.includes(key) {
			continue
		}
		if next == 0 {
			sample = append(sample, key)
			next = step
		}
		next--
	}
	return sample
}

// collectLeaves makes leaves of the workers' buckets. whole is the leaf that was divided. If in is
// not nil, it contains the order in which to read the elements. Otherwise, the workers' elements
// are concatenated.
func (p *pipeline[K, E]) collectLeaves(
	workers int,
	b radix.Buckets[K],
	whole leaf[K],
	in *order,
) (leaves []leaf[K]) {
	if in != nil {
		in.sortSegments()
		in.workerLists = in.workerLists[:0]
		for _, w := range p.workers[:workers] {
			in.workerLists = append(
				in.workerLists,
				slices.Clone(w.scatter.Lists[:b.Count()]),
			)
		}
	}

	for bucket := range b.Count() {
		l := p.leafOf(workers, bucket)
		if l.count == 0 {
			continue
		}
		if l.keyFrom = whole.keyFrom; in != nil {
			l.List = pool.Empty
			l.ordered = true
			l.bucket = bucket
		}

		l.low, l.high = b.Span(bucket, whole.low, whole.high)
		leaves = append(leaves, l)
	}

	return leaves
}

// leafOf joins the workers' shares of a bucket.
func (p *pipeline[K, E]) leafOf(workers, bucket int) leaf[K] {
	l := leaf[K]{List: pool.Empty, zone: p.workers[0].scatter.ZoneOf(bucket)}
	for _, w := range p.workers[:workers] {
		l.count += p.pool.CountElements(w.scatter.Lists[bucket])
		majority, counted := w.scatter.MajorityOf(bucket)
		l.majority = majority
		l.majorityCount += counted
		p.pool.Join(&l.List, w.scatter.Lists[bucket])
	}

	l.count += l.majorityCount
	return l
}

// widenRange estimates the range of all elements from the range of n of them. For n uniformly
// distributed values, the expected distance from each end of the sample to the end of the range
// is one average gap.
func widenRange[E radix.Element](low, high E, n int) (E, E) {
	gap := (high - low) / E(n)
	return low - min(low, gap), high + min(^E(0)-high, gap)
}

// Select implements device.Chunk. It does not support records that stay where they were read,
// because those left out would leave holes.
func (p *pipeline[K, E]) Select(
	ctx context.Context,
	src device.Source,
	low, high uint64,
) (records int64, last uint64, err error) {
	if p.sizes.storedRecordBytes > 0 {
		return 0, 0, errors.ErrUnsupported
	}
	s := &selection[K]{
		low:     K(low),
		span:    K(high) - K(low),
		shrinks: true,
	}
	records, err = p.loadSelected(ctx, src, s)
	if s.high() == K(high) {
		return records, high, err
	}
	return records, uint64(s.high()), err
}

// selection describes which elements of the source Load takes: those from low to low+span. The
// buckets cover all of them. If they do not fit and shrinks is set, Load drops the buckets with
// the greatest elements and reduces span.
type selection[E radix.Element] struct {
	low, span E
	shrinks   bool
}

// high returns the greatest element that is taken.
func (s *selection[E]) high() E {
	return s.low + s.span
}

// includes reports whether an element is taken.
func (s *selection[E]) includes(element E) bool {
	return element-s.low <= s.span
}

// takesAll reports whether all elements are selected.
func (s *selection[E]) takesAll() bool {
	return s.span == ^E(0)
}

// minEstimateSample is the minimum size of a sample for estimating the number of selected
// elements.
const minEstimateSample = 1 << 8

// estimateRecords estimates the number of elements, unless all are taken.
func (s *selection[E]) estimateRecords(
	in *intake,
	opt *device.ChunkOptions,
	fromPrefix func(uint64) E,
) {
	if s.takesAll() {
		return
	}
	prefixes := in.samplePrefixes(opt)
	selected := 0
	for _, p := range prefixes {
		if s.includes(fromPrefix(p)) {
			selected++
		}
	}

	if selected >= minEstimateSample {
		share := float64(selected) / float64(len(prefixes))
		estimate := float64(in.src.Records()) * share
		in.expected = min(in.expected, int64(estimate))
	}
}

// selectSample returns the selected part of a sample and the range for which to make buckets. It
// does not modify the sample, which may belong to the source.
func (s *selection[E]) selectSample(sample []E) (selected []E, low, high E) {
	if !s.takesAll() {
		sample = slices.Clone(sample)
		sample = sample[:radix.KeepWithin(sample, s.low, s.span)]
	}

	if len(sample) == 0 {
		return nil, s.low, s.high()
	}
	low, high = radix.MinMax(sample)
	low, high = widenRange(low, high, len(sample))
	return sample, max(low, s.low), min(high, s.high())
}

// dropGreatest drops the buckets with the greatest elements, and excludes these elements from now
// on, if the source of a selection has more records than fit. It reports whether there is more to
// read. REQUIRES: no worker adds to buckets
func (l *loading[K, E]) dropGreatest() (more bool, err error) {
	s := l.selection
	if !s.shrinks || l.delivered.Load() >= l.src.Records() {
		return false, nil
	}
	cut := l.firstToDrop()
	if cut == 0 {
		return false, device.ErrTooMany
	}
	_, last := l.buckets.Bounds(cut - 1)
	for _, w := range l.pipeline.workers[:l.workers] {
		l.leaveOut(w.scatter.DropFrom(cut))
	}
	s.span = min(s.span, last-s.low)
	return true, nil
}

// firstToDrop returns the first bucket to drop. The buckets before it hold at most three quarters
// of the elements or, if that is impossible, as few as possible but at least one. firstToDrop
// returns 0 if all elements are in one bucket.
func (l *loading[K, E]) firstToDrop() int {
	sizes := make([]int64, l.buckets.Count())
	total := int64(0)
	for bucket := range sizes {
		for _, w := range l.pipeline.workers[:l.workers] {
			sizes[bucket] += w.scatter.SizeOf(bucket)
		}
		total += sizes[bucket]
	}

	before := int64(0)
	for bucket, size := range sizes {
		exceeds := 4*(before+size) > 3*total
		if exceeds && before > 0 && size > 0 {
			return bucket
		}
		before += size
	}

	return 0
}
