package cpu

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// chunk is a device.Chunk whose elements are E.
type chunk[E radix.Element] struct {
	sizes
	opt   device.ChunkOptions
	codec codec[E]
	pool  *pool.Pool[E]
	kept  *arena.Memory // the records that the codec keeps, or nil

	mapping device.Mapping // where the records are that the codec keeps, if not in kept; else nil

	workers []*worker[E]
	leaves  []leaf[E] // the buckets in order
	stats   device.Stats
}

// leaf is a bucket that is not cut further.
type leaf[E radix.Element] struct {
	pool.List
	count     int64
	low, high E    // all elements are from low to high
	zone      int  // that its blocks come from
	from      int  // the elements hold the key from this bit on
	equal     bool // its elements are all the same
	ordered   bool // its elements are in order as they stand

	heavy   E     // an element that was counted in the scatter
	counted int64 // how many of count are equal to it, and in no block
}

// unsorted says that the leaf is to be sorted in cache yet: then it fits there.
func (l *leaf[E]) unsorted() bool { return !l.equal && !l.ordered }

// worker is the scratch of one goroutine.
type worker[E radix.Element] struct {
	memory  *arena.Memory // of what follows
	unit    []byte        // records on their way in
	elems   []E           // a batch of their elements
	a, b    []E           // the elements of a leaf, and room for as many
	out     []byte        // records on their way out
	scatter *radix.Scatterer[E]
	blocks  [][]E // of a leaf
	radix   radix.Sorter[E]
}

func newChunk[E radix.Element](opt device.ChunkOptions, s sizes, c codec[E]) (*chunk[E], error) {
	p, err := pool.New[E](s.blocks, s.block, s.zones())
	if err != nil {
		return nil, err
	}
	return &chunk[E]{sizes: s, opt: opt, codec: c, pool: p, workers: make([]*worker[E], s.workers)}, nil
}

func newKeyChunk[E radix.Element](opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	return newChunk(opt, s, newKeys[E](opt.Keyer))
}

func newRecordChunk(opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	kept, err := arena.Alloc(int(s.records) * s.record)
	if err != nil {
		return nil, err
	}
	made, err := newChunk(opt, s, newRecords(opt.Keyer, kept.Bytes(), s.records))
	if err != nil {
		return nil, errors.Join(err, kept.Free())
	}
	made.kept = kept
	return made, nil
}

// makeWorkers makes the scratch of workers where it is not there yet.
func (c *chunk[E]) makeWorkers(workers int) error {
	for i := range workers {
		if c.workers[i] != nil {
			continue
		}
		memory, err := arena.Alloc(c.perWorker())
		if err != nil {
			return err
		}
		w := &worker[E]{memory: memory}
		w.radix.Distinct = c.keptRecords > 0
		rest := memory.Bytes()
		w.a, rest = radix.Carve[E](rest, c.leaf)
		w.b, rest = radix.Carve[E](rest, c.leaf)
		w.elems, rest = radix.Carve[E](rest, c.batch())
		w.scatter, rest = radix.NewScatterer(c.pool, rest, c.maxBuckets(), c.line)
		w.unit, w.out = rest[:c.unitBytes()], rest[c.unitBytes():]
		c.workers[i] = w
	}
	return nil
}

// each runs f for so many workers, see each, and makes errors of faults of the mapping.
func (c *chunk[E]) each(ctx context.Context, workers int, f func(ctx context.Context, w *worker[E]) error) error {
	return each(ctx, c.workers[:workers], func(ctx context.Context, _ int, w *worker[E]) error {
		return c.guarded(func() error { return f(ctx, w) })
	})
}

// each runs f for every worker in a goroutine of its own and waits for all.
func each[W any](ctx context.Context, workers []W, f func(ctx context.Context, i int, w W) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, w := range workers {
		group.Go(func() error { return f(ctx, i, w) })
	}
	return group.Wait()
}

func (c *chunk[E]) Stats() device.Stats { return c.stats }

func (c *chunk[E]) Close() error {
	err := errors.Join(c.unmap(), c.pool.Memory.Free(), c.kept.Free())
	for _, w := range c.workers {
		if w != nil {
			err = errors.Join(err, w.memory.Free())
		}
	}
	c.leaves, c.workers = nil, nil
	return err
}

// seconds adds the time since start to total.
func seconds(total *float64, start time.Time) { *total += time.Since(start).Seconds() }
