package cpu

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
)

// chunk is a device.Chunk whose elements are E.
type chunk[E element] struct {
	sizes
	opt   device.ChunkOptions
	codec codec[E]
	pool  *pool[E]
	kept  *arena.Memory // the records that the codec keeps, or nil

	workers []*worker[E]
	leaves  []leaf // the buckets in order
	stats   device.Stats
}

// leaf is a bucket that is not cut further.
type leaf struct {
	list
	count   int64
	from    int  // the elements hold the key from this bit on
	equal   bool // its elements are all the same
	ordered bool // its elements are in order as they stand
}

// worker is the scratch of one goroutine.
type worker[E element] struct {
	unit    []byte // records on their way in
	elems   []E    // a batch of their elements
	scatter *scatterer[E]
	a, b    []E    // the elements of a leaf, and room for as many
	out     []byte // records on their way out
	radix   radix
}

func newChunk[E element](opt device.ChunkOptions, s sizes, c codec[E]) (device.Chunk, error) {
	p, err := newPool[E](&s)
	if err != nil {
		return nil, err
	}
	return &chunk[E]{sizes: s, opt: opt, codec: c, pool: p, workers: make([]*worker[E], s.workers)}, nil
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
	made.(*chunk[uint64]).kept = kept
	return made, nil
}

// worker is the scratch of goroutine i, made when it is first needed.
func (c *chunk[E]) worker(i int) *worker[E] {
	if c.workers[i] == nil {
		c.workers[i] = &worker[E]{}
	}
	return c.workers[i]
}

// each runs f for every worker in a goroutine of its own and waits for all.
func (c *chunk[E]) each(ctx context.Context, workers int, f func(ctx context.Context, w *worker[E]) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range workers {
		w := c.worker(i)
		group.Go(func() error { return f(ctx, w) })
	}
	return group.Wait()
}

func (c *chunk[E]) Stats() device.Stats { return c.stats }

func (c *chunk[E]) Close() error {
	err := errors.Join(c.pool.memory.Free(), c.kept.Free())
	c.leaves, c.workers = nil, nil
	return err
}

// seconds adds the time since start to total.
func seconds(total *float64, start time.Time) { *total += time.Since(start).Seconds() }
