package cpu

import (
	"context"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu/radix"
)

// task is what a worker stores at a time: neighbouring leaves that fill one block together, one leaf that may fill
// several, or a stretch of one that is done.
type task[K radix.Element] struct {
	leaves []leaf[K]
	skip   int64 // records before those of the task in the one leaf, if that is done
	first  int64 // record of the sorted order
	count  int64 // records to store
}

// Store writes the records and keeps them.
func (e *engine[K, E, W]) Store(ctx context.Context, limit int64, w device.BlockWriter) error {
	return e.storeAll(ctx, limit, w, nil)
}

// Drain gives the memory of a zone back when the last of its records have been written.
func (e *engine[K, E, W]) Drain(ctx context.Context, limit int64, w device.BlockWriter) error {
	records := make([]int64, len(e.pool.Zones))
	for _, l := range e.leaves {
		records[l.zone] += l.count
	}
	return e.storeAll(ctx, limit, w, newUsage(e.pool, records))
}

// storeAll stores. zones, if not nil, hears what is done with.
func (e *engine[K, E, W]) storeAll(ctx context.Context, limit int64, to device.BlockWriter, zones *usage) error {
	defer seconds(&e.stats.Store, time.Now())
	tasks := e.tasks(limited(limit, e.stats.Records))
	workers := max(1, min(len(tasks), e.sizes.workers))
	if err := e.makeWorkers(workers); err != nil {
		return err
	}
	s := storing{tasks: len(tasks), zones: zones}
	err := e.each(ctx, workers, func(ctx context.Context, _ int, w W) error {
		return s.work(func(i int) (first, count int64, err error) {
			if err := ctx.Err(); err != nil {
				return 0, 0, err
			}
			return tasks[i].first, tasks[i].count, e.kind.store(ctx, w, tasks[i], to)
		})
	})
	e.countPasses()
	return err
}

// limited is how many of so many records there are if limit are asked for; limit < 0 asks for all.
func limited(limit, records int64) int64 {
	if limit < 0 {
		return records
	}
	return min(limit, records)
}

// tasks cuts the first limit records into tasks.
func (e *engine[K, E, W]) tasks(limit int64) []task[K] {
	var tasks []task[K]
	block := int64(e.out)
	at := int64(0)
	add := func(leaves []leaf[K], skip, count int64) {
		if count = min(count, limit-at); count > 0 {
			tasks = append(tasks, task[K]{leaves, skip, at, count})
			at += count
		}
	}
	for i := 0; i < len(e.leaves); {
		l, end := &e.leaves[i], i+1
		count := l.count
		if l.done {
			stretch := max(block, count/int64(8*e.sizes.workers)) // to skip records takes time as well
			for skip := int64(0); skip < count; skip += stretch {
				add(e.leaves[i:end], skip, min(stretch, count-skip))
			}
			i = end
			continue
		}
		for end < len(e.leaves) && !e.leaves[end].done && count+e.leaves[end].count <= block {
			count += e.leaves[end].count
			end++
		}
		add(e.leaves[i:end], 0, count)
		i = end
	}
	return tasks
}

// storeDone writes records of a leaf that is done, by way of out.
func (e *engine[K, E, W]) storeDone(ctx context.Context, t task[K], out []byte, to device.BlockWriter) error {
	first, left, n := t.first, t.count, 0 // n: records in out
	for piece := range e.kind.pieces(&t.leaves[0], t.skip) {
		for len(piece) > 0 && left > 0 {
			some := piece[:min(int64(len(piece)), left, int64(e.out-n))]
			moved(out[n*e.record:], e.kind.records(out[n*e.record:], some))
			piece, left, n = piece[len(some):], left-int64(len(some)), n+len(some)
			if n < e.out && left > 0 {
				continue
			}
			if err := to.WriteBlock(ctx, first, out[:n*e.record]); err != nil {
				return err
			}
			first, n = first+int64(n), 0
		}
		if left == 0 {
			break
		}
	}
	return nil
}
