package cpu

import (
	"context"
	"errors"
	"slices"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu/radix"
)

// Select implements device.Chunk. Of records that stay where they are read to, those left out would leave holes.
func (e *engine[K, E]) Select(ctx context.Context, src device.Source, low, high uint64,
) (records int64, last uint64, err error) {
	if e.sizes.keptRecords > 0 {
		return 0, 0, errors.ErrUnsupported
	}
	s := &selection[K]{low: K(low), span: K(high) - K(low), shrinks: true}
	records, err = e.load(ctx, src, s)
	if s.high() == K(high) {
		return records, high, err
	}
	return records, uint64(s.high()), err
}

// selection is what a Load takes of its source: the elements from low to low+span. Buckets are cut for all of them.
// Where there is no room for all, the buckets with the greatest elements are dropped, with what they hold by
// then, and span shrinks, if that is wanted.
type selection[E radix.Element] struct {
	low, span E
	shrinks   bool
}

// high is the greatest element that is taken.
func (s *selection[E]) high() E { return s.low + s.span }

func (s *selection[E]) takesAll() bool { return s.span == ^E(0) }

// minEstimateSample is the least sample that tells how many elements will be selected.
const minEstimateSample = 1 << 8

// begin estimates how many elements there will be, if not all are taken.
func (s *selection[E]) begin(in *intake, opt *device.ChunkOptions, fromPrefix func(uint64) E) {
	if s.takesAll() {
		return
	}
	prefixes, selected := in.sample(opt), 0
	for _, p := range prefixes {
		if fromPrefix(p)-s.low <= s.span {
			selected++
		}
	}
	if selected >= minEstimateSample {
		estimate := float64(in.src.Records()) * float64(selected) / float64(len(prefixes))
		in.expected = min(in.expected, int64(estimate))
	}
}

// cutFrom prepares a sample to cut buckets by, and their range: what of both is selected. The sample stays as it
// is: it may be the source's own.
func (s *selection[E]) cutFrom(sample []E) (selected []E, low, high E) {
	if !s.takesAll() {
		sample = slices.Clone(sample)
		sample = sample[:radix.Within(sample, s.low, s.span)]
	}
	if len(sample) == 0 {
		return nil, s.low, s.high()
	}
	low, high = radix.MinMax(sample)
	low, high = widen(low, high, len(sample))
	return sample, max(low, s.low), min(high, s.high())
}

// makeRoom drops the buckets with the greatest elements, and leaves these out from now on, if the source of a selection
// has more than there is room for. It reports whether there is more to read. REQUIRES: no worker adds to buckets.
func (l *loading[K, E]) makeRoom() (more bool, err error) {
	s := l.selection
	if !s.shrinks || l.delivered.Load() >= l.src.Records() {
		return false, nil
	}
	cut := l.firstToDrop()
	if cut == 0 {
		return false, device.ErrTooMany
	}
	_, last := l.buckets.Bounds(cut - 1)
	for _, w := range l.engine.workers[:l.workers] {
		l.leaveOut(w.scatter.DropFrom(cut))
	}
	s.span = min(s.span, last-s.low)
	return true, nil
}

// firstToDrop is the first bucket to drop, so that three quarters of the elements are left, or as few as can be,
// but not none; 0: all are in one bucket.
func (l *loading[K, E]) firstToDrop() int {
	sizes, all := make([]int64, l.buckets.Count()), int64(0)
	for bucket := range sizes {
		for _, w := range l.engine.workers[:l.workers] {
			sizes[bucket] += w.scatter.SizeOf(bucket)
		}
		all += sizes[bucket]
	}
	before := int64(0)
	for bucket, size := range sizes {
		if before > 0 && size > 0 && 4*(before+size) > 3*all {
			return bucket
		}
		before += size
	}
	return 0
}
