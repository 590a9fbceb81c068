package cpu

import (
	"context"
	"errors"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// engine is a device.Chunk: blocks of E in leaves that are cut by keys K, workers W, and the steps, which are written
// once for elements and for records that are moved whole.
type engine[K radix.Element, E arena.Word, W scratch] struct {
	sizes
	opt     device.ChunkOptions
	kind    kind[K, E, W]
	pool    *pool.Pool[E]
	workers []W
	leaves  []leaf[K] // in order
	stats   device.Stats
}

// kind is what a chunk does in its own way.
type kind[K radix.Element, E arena.Word, W scratch] interface {
	newWorker() (W, error)

	begin(src device.Source, workers int) error // of a Load by so many workers
	sort(ctx context.Context) error             // leaves no leaf that is too large for the cache and not done
	free() error                                // gives the memory back that is not the engine's
	place(w W, first int64, n int) []byte       // the memory that n records from index first on are read into
	keysOf(w W, recs []byte, first int64) []K   // of a unit
	fromPrefix(prefix uint64) K                 // the least key of those with the given Keyer.Prefix
	tieBits() uint                              // the number of low bits of keys that do not tell buckets apart

	// reset empties the buckets of the workers, in which equal keys that are majority are counted.
	reset(workers int, b radix.Buckets[K], majority *radix.Equalities[K])
	scatter(l *loading[K, E, W], w W, recs []byte, first int64)
	share(w W) share

	// admit reports whether a worker may read another unit; the first always may. note takes that a worker that was
	// admitted has scattered n records from first on, or found none.
	admit(worker int) bool
	note(worker int, first, n int64)

	// collect makes leaves of the buckets of the workers. whole is what they were cut of.
	collect(workers int, b radix.Buckets[K], whole leaf[K]) []leaf[K]

	// store finishes the leaves of a task and writes its records.
	store(ctx context.Context, w W, t task[K], to device.BlockWriter) error

	// settle puts the elements of a leaf in order where they lie. REQUIRES: the leaf is not done.
	settle(w W, l *leaf[K])

	// pieces gives the elements of a leaf as they lie, but for so many to skip, one stretch after the other: in order,
	// if the leaf is settled or done.
	pieces(l *leaf[K], skip int64) iter.Seq[[]E]

	// records gives the records of elems: in dst, or a view of elems if that is the same.
	records(dst []byte, elems []E) []byte

	// keeps reports whether the records can be read where they lie once all leaves are settled, and sees to it.
	keeps(ctx context.Context) (bool, error)
	besideBytes() int64 // of memory that the records take beside their blocks

	// guarded calls f and makes an error of a fault of memory that is a file's.
	guarded(f func() error) error
}

// scratch is a worker, the memory of one goroutine. The zero scratch is none.
type scratch interface {
	comparable
	free() error
	passes() int // the most radix passes that any elements took
}

// leaf is a bucket that is not cut further, or a part of one.
type leaf[K radix.Element] struct {
	pool.List
	count int64
	zone  int  // that its blocks come from
	done  bool // nothing is left to sort: its elements are all the same, or in order as they stand

	low, high K     // all elements are from low to high
	from      int   // elements hold the key from this bit on
	majority  K     // the key that the scatter counted
	counted   int64 // how many of count are equal to it, and in no block

	bucket int  // whole records: of the order
	flat   bool // whole records: it is of a split, and its records are those of the list, in order
	depth  int  // whole records: of the splits that made it
}

func newEngine[K radix.Element, E arena.Word, W scratch](opt device.ChunkOptions, s sizes) (*engine[K, E, W], error) {
	p, err := pool.New[E](s.blocks, s.block, zones(&s))
	return &engine[K, E, W]{sizes: s, opt: opt, pool: p, workers: make([]W, s.workers)}, err
}

// makeWorkers makes the scratch of workers where it is not there yet.
func (e *engine[K, E, W]) makeWorkers(workers int) (err error) {
	var none W
	for i, w := range e.workers[:workers] {
		if w != none {
			continue
		}
		if e.workers[i], err = e.kind.newWorker(); err != nil {
			return err
		}
	}
	return nil
}

// each runs f for so many workers, see each, and makes errors of faults.
func (e *engine[K, E, W]) each(ctx context.Context, workers int, f func(ctx context.Context, i int, w W) error) error {
	return each(ctx, e.workers[:workers], func(ctx context.Context, i int, w W) error {
		return e.kind.guarded(func() error { return f(ctx, i, w) })
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

// Sort leaves to Store what fits in cache.
func (e *engine[K, E, W]) Sort(ctx context.Context) error {
	defer seconds(&e.stats.Sort, time.Now())
	return e.kind.sort(ctx)
}

// Stats tells of the work since the last Load.
func (e *engine[K, E, W]) Stats() device.Stats { return e.stats }

// countPasses enters the radix passes of the workers into the stats.
func (e *engine[K, E, W]) countPasses() {
	var none W
	passes := 0
	for _, w := range e.workers {
		if w != none {
			passes = max(passes, w.passes())
		}
	}
	e.stats.Passes = passes + 1
}

// freeWorkers gives the scratch of all workers back.
func (e *engine[K, E, W]) freeWorkers() (err error) {
	var none W
	for i, w := range e.workers {
		if w != none {
			err = errors.Join(err, w.free())
		}
		e.workers[i] = none
	}
	return err
}

// Close gives the memory back.
func (e *engine[K, E, W]) Close() error {
	e.leaves = nil
	return errors.Join(e.kind.free(), e.pool.Memory.Free(), e.freeWorkers())
}

// seconds adds the time since start to total.
func seconds(total *float64, start time.Time) { *total += time.Since(start).Seconds() }
