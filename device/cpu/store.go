package cpu

import (
	"context"
	"sync/atomic"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu/radix"
)

// task is a unit of work in Store: neighboring leaves that fill one block together, a leaf that
// may fill several blocks, or a part of a leaf that is done.
type task[K radix.Element] struct {
	leaves []leaf[K]
	skip   int64 // number of records to skip in a leaf that is done
	first  int64 // index of the first record in sorted order
	count  int64 // number of records to store
}

// Store writes the sorted records. If drain is set, it returns the memory of a zone to the system
// when the last of its records has been written.
func (p *pipeline[K, E]) Store(
	ctx context.Context,
	limit int64,
	drain bool,
	to device.BlockWriter,
) error {
	// number of records of each zone that have not been stored
	left := make([]atomic.Int64, len(p.pool.Zones))
	for _, l := range p.leaves {
		left[l.zone].Add(l.count)
	}
	tasks := p.tasks(limitRecords(limit, p.stats.Records))
	err := p.inOrder(ctx, len(tasks), func(ctx context.Context, w *worker[K, E], i int) error {
		err := p.storeTask(ctx, w, tasks[i], to)
		if err == nil && drain {
			p.noteStored(tasks[i], left)
		}
		return err
	})
	p.countPasses()
	return err
}

// noteStored counts the records of a task as stored.
func (p *pipeline[K, E]) noteStored(
	t task[K],
	left []atomic.Int64,
) {
	for _, l := range t.leaves {
		if l.isSorted {
			l.count = t.count
		}
		if left[l.zone].Add(-l.count) == 0 {
			p.pool.ReleaseZone(l.zone)
		}
	}
}

// inOrder runs tasks on workers; see device.InOrder.
func (p *pipeline[K, E]) inOrder(
	ctx context.Context,
	tasks int,
	do func(ctx context.Context, w *worker[K, E], task int) error,
) error {
	workers := max(1, min(tasks, p.sizes.workers))
	if err := p.makeWorkers(workers); err != nil {
		return err
	}
	return device.InOrder(ctx, workers, tasks, func(ctx context.Context, worker, i int) error {
		return do(ctx, p.workers[worker], i)
	})
}

// limitRecords returns min(limit, records). A negative limit means all records.
func limitRecords(limit, records int64) int64 {
	if limit < 0 {
		return records
	}
	return min(limit, records)
}

// tasks divides the first limit records into tasks.
func (p *pipeline[K, E]) tasks(limit int64) []task[K] {
	var tasks []task[K]
	block := int64(p.sizes.outRecords)
	at := int64(0)
	add := func(leaves []leaf[K], skip, count int64) {
		count = min(count, limit-at)
		if count > 0 {
			tasks = append(tasks, task[K]{leaves, skip, at, count})
			at += count
		}
	}
	for i := 0; i < len(p.leaves); {
		l := &p.leaves[i]
		end := i + 1
		count := l.count

		if l.isSorted {
			// long enough, because skipping records takes time as well
			stretch := max(block, count/int64(8*p.sizes.workers))
			for skip := int64(0); skip < count; skip += stretch {
				add(p.leaves[i:end], skip, min(stretch, count-skip))
			}
			i = end
			continue
		}

		for end < len(p.leaves) && !p.leaves[end].isSorted &&
			count+p.leaves[end].count <= block {
			count += p.leaves[end].count
			end++
		}

		add(p.leaves[i:end], 0, count)
		i = end
	}

	return tasks
}

// storeTask finishes the leaves of a task and writes their records.
func (p *pipeline[K, E]) storeTask(
	ctx context.Context,
	w *worker[K, E],
	t task[K],
	to device.BlockWriter,
) error {
	switch {
	case t.leaves[0].isSorted:
		return p.storeSorted(ctx, t, w.out, to)
	case len(t.leaves) > 1:
		out := w.out[:t.count*int64(p.sizes.recordBytes)]
		for rest := out; len(rest) > 0; t.leaves = t.leaves[1:] {
			sorted := p.kind.sortLeaf(w, &t.leaves[0], rest)
			n := min(len(sorted), len(rest)/p.sizes.recordBytes)
			recs := copyTo(rest, p.kind.gatherRecords(w, rest, sorted[:n]))
			rest = rest[len(recs):]
		}
		return to.WriteBlock(ctx, t.first, out)
	}

	sorted := p.kind.sortLeaf(w, &t.leaves[0], nil)[:t.count]
	for first := t.first; len(sorted) > 0; {
		n := min(len(sorted), p.sizes.outRecords)
		recs := p.kind.gatherRecords(w, w.out, sorted[:n])
		if err := to.WriteBlock(ctx, first, recs); err != nil {
			return err
		}
		first += int64(n)
		sorted = sorted[n:]
	}

	return nil
}

// storeSorted writes records of a leaf that is done, using the buffer out.
func (p *pipeline[K, E]) storeSorted(
	ctx context.Context,
	t task[K],
	out []byte,
	to device.BlockWriter,
) error {
	size := p.sizes.recordBytes
	block := min(p.sizes.outRecords*size, len(out)/size*size)
	b := device.Emitter{
		To:    to,
		Size:  size,
		First: t.first,
		Left:  t.count,
		Buf:   out[:0:block],
	}
	for piece := range p.pieces(&t.leaves[0], t.skip) {
		for len(piece) > 0 && b.Left > 0 {
			dst, err := b.Room(ctx, len(piece))
			if err != nil {
				return err
			}
			n := len(dst) / size
			copyTo(dst, p.kind.recordsOf(dst, piece[:n]))
			piece = piece[n:]
		}

		if b.Left == 0 {
			break
		}
	}

	return b.Flush(ctx)
}

// copyTo copies recs to the start of dst, unless they are already there.
func copyTo(dst, recs []byte) []byte {
	if len(recs) > 0 && &dst[0] != &recs[0] {
		copy(dst, recs)
	}
	return dst[:len(recs)]
}
