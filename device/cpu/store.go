package cpu

import (
	"context"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// task is what a worker stores at a time: neighbouring leaves that fill one block together, or one leaf that may
// fill several.
type task[E radix.Element] struct {
	leaves []leaf[E]
	first  int64 // record of the sorted order
	count  int64 // records to store
}

// Store writes the records and keeps them.
func (c *chunk[E]) Store(ctx context.Context, limit int64, w device.BlockWriter) error {
	return c.storeAll(ctx, limit, w, nil)
}

// Drain gives the memory of a zone back when the last of its records have been written.
func (c *chunk[E]) Drain(ctx context.Context, limit int64, w device.BlockWriter) error {
	records := make([]int64, len(c.pool.Zones))
	for _, l := range c.leaves {
		records[l.zone] += l.count
	}
	return c.storeAll(ctx, limit, w, newUsage(c.pool, records))
}

// storeAll stores. zones, if not nil, hears what is done with.
func (c *chunk[E]) storeAll(ctx context.Context, limit int64, w device.BlockWriter, zones *usage) error {
	defer seconds(&c.stats.Store, time.Now())
	if limit < 0 || limit > c.stats.Records {
		limit = c.stats.Records
	}
	tasks := c.tasks(limit)
	workers := max(1, min(len(tasks), c.sizes.workers))
	if err := c.makeWorkers(workers); err != nil {
		return err
	}
	s := storing{tasks: len(tasks), zones: zones}
	err := c.each(ctx, workers, func(ctx context.Context, wk *worker[E]) error {
		return s.work(func(i int) (first, count int64, err error) {
			return tasks[i].first, tasks[i].count, c.store(ctx, wk, tasks[i], w)
		})
	})
	c.countPasses()
	return err
}

// tasks cuts the first limit records into tasks.
func (c *chunk[E]) tasks(limit int64) []task[E] {
	var tasks []task[E]
	block := int64(c.out)
	at := int64(0)
	add := func(leaves []leaf[E], count int64) {
		if count = min(count, limit-at); count > 0 {
			tasks = append(tasks, task[E]{leaves, at, count})
			at += count
		}
	}
	for i := 0; i < len(c.leaves); {
		end, count := i+1, c.leaves[i].count
		for c.leaves[i].unsorted() && end < len(c.leaves) && c.leaves[end].unsorted() && count+c.leaves[end].count <= block {
			count += c.leaves[end].count
			end++
		}
		if c.leaves[i].equal {
			for ; count > block; count -= block {
				add(c.leaves[i:end], block)
			}
		}
		add(c.leaves[i:end], count)
		i = end
	}
	return tasks
}

// store finishes the leaves of a task and writes them.
func (c *chunk[E]) store(ctx context.Context, w *worker[E], t task[E], to device.BlockWriter) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	switch l := t.leaves[0]; {
	case l.equal:
		return c.storeEqual(ctx, w, t, to)
	case l.ordered:
		return c.storeOrdered(ctx, w, t, to)
	}
	if len(t.leaves) > 1 {
		return to.WriteBlock(ctx, t.first, c.joined(w, t))
	}
	return c.storeSorted(ctx, w, t.first, c.finish(w, t.leaves[0], w.a)[:t.count], to)
}

// finish puts the elements of a leaf in order into dst.
func (c *chunk[E]) finish(w *worker[E], l leaf[E], dst []E) []E {
	dst = dst[:l.count]
	if inBlocks := l.count - l.counted; inBlocks > 0 {
		elems, tmp := dst[:inBlocks], w.b[:inBlocks]
		w.blocks = c.blocksOf(w.blocks[:0], l)
		s := radix.SpanOf(l.low, l.high)
		if s.Width == 8*c.element {
			s = radix.SpanOfBlocks(w.blocks)
		}
		w.radix.Sort(elems, tmp, w.blocks, s)
		refine(c.codec, &w.radix, elems, tmp, l.from)
	}
	l.insert(dst)
	return dst
}

func (c *chunk[E]) blocksOf(blocks [][]E, l leaf[E]) [][]E {
	for b := l.Head; b != pool.None; b = c.pool.Next[b] {
		blocks = append(blocks, c.pool.Content(b))
	}
	return blocks
}

// joined gives the records of several leaves that fill one block together.
func (c *chunk[E]) joined(w *worker[E], t task[E]) []byte {
	size := c.record
	n := 0
	for _, l := range t.leaves {
		if n == int(t.count)*size {
			break
		}
		to := c.codec.room(w.out[n:]) // in cache, as w.a is: in memory that is not, the moves take half as long again
		if int64(len(to)) < l.count {
			to = w.a
		}
		elems := c.finish(w, l, to)
		elems = elems[:min(len(elems), int(t.count)-n/size)]
		n += len(moved(w.out[n:], c.codec.records(w.out[n:], elems)))
	}
	return w.out[:n]
}

// storeSorted writes the records of elems in blocks.
func (c *chunk[E]) storeSorted(ctx context.Context, w *worker[E], first int64, elems []E, to device.BlockWriter) error {
	return writeInBlocks(ctx, to, first, len(elems), c.out, func(from, n int) []byte {
		return c.codec.records(w.out, elems[from:from+n])
	})
}

// storeEqual writes records that are all the same.
func (c *chunk[E]) storeEqual(ctx context.Context, w *worker[E], t task[E], to device.BlockWriter) error {
	for at := int64(0); at < t.count; {
		elems := w.a[:min(int64(len(w.a)), t.count-at)]
		radix.Fill(elems, t.leaves[0].low)
		if err := c.storeSorted(ctx, w, t.first+at, elems, to); err != nil {
			return err
		}
		at += int64(len(elems))
	}
	return nil
}

// storeOrdered writes the records of a leaf whose blocks are in order already.
func (c *chunk[E]) storeOrdered(ctx context.Context, w *worker[E], t task[E], to device.BlockWriter) error {
	block := t.leaves[0].Head
	for at := int64(0); at < t.count; {
		elems := w.a[:0]
		for block != pool.None && len(elems)+int(c.pool.Used[block]) <= len(w.a) {
			elems = append(elems, c.pool.Content(block)...)
			block = c.pool.Next[block]
		}
		elems = elems[:min(int64(len(elems)), t.count-at)]
		if err := c.storeSorted(ctx, w, t.first+at, elems, to); err != nil {
			return err
		}
		at += int64(len(elems))
	}
	return nil
}

func (c *chunk[E]) countPasses() {
	passes := 0
	for _, w := range c.workers {
		if w != nil {
			passes = max(passes, w.radix.Passes)
		}
	}
	c.stats.Passes = passes + 1
}
