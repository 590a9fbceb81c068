package cpu

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/device"
)

// Keep finishes the parts where they lie, see chunk.Keep: the pieces of a bucket hold its records in order then. It keeps
// nothing if there was no memory to split a bucket that is too large, as its parts do not lie together; or if that was in order,
// as each read goes through it from the start.
func (c *carrier[R]) Keep(ctx context.Context, limit, memoryBytes int64) (*device.Kept, error) {
	defer seconds(&c.stats.Store, time.Now())
	if limit < 0 || limit > c.stats.Records {
		limit = c.stats.Records
	}
	apart := slices.ContainsFunc(c.leaves, func(l part) bool { return l.within || l.count > keptLeaves*int64(c.leaf) })
	if apart || c.keptBytes() > memoryBytes {
		return nil, nil
	}
	if err := c.finishAll(ctx, limit); err != nil {
		return nil, err
	}
	c.countPasses()
	if err := c.shrink(); err != nil {
		return nil, err
	}
	starts, blocks := c.index(limit)
	return &device.Kept{Blocks: blocks, Bytes: c.keptBytes(), Read: func(i int, dst []byte) ([]byte, error) {
		dst = dst[:blocks[i].Records*c.record]
		c.readKept(starts[i], dst)
		return dst, nil
	}}, nil
}

// keptLeaves is how many times the size of a leaf a bucket in order may be that is kept.
const keptLeaves = 64

// keptBytes is the memory of the loaded records without the scratch of the workers.
func (c *carrier[R]) keptBytes() int64 {
	return c.pool.Touched()*int64(c.sizes.block*c.element+8) + int64(c.orderBytes())
}

// finishAll puts the parts that hold the first limit records in order.
func (c *carrier[R]) finishAll(ctx context.Context, limit int64) error {
	end := 0
	for at := int64(0); end < len(c.leaves) && at < limit; end++ {
		at += c.leaves[end].count
	}
	workers := max(1, min(end, c.sizes.workers))
	if err := c.makeWorkers(workers); err != nil {
		return err
	}
	var claimed atomic.Int64
	return c.each(ctx, workers, func(ctx context.Context, _ int, w *carryWorker[R]) error {
		for i := int(claimed.Add(1)) - 1; i < end; i = int(claimed.Add(1)) - 1 {
			if err := ctx.Err(); err != nil {
				return err
			}
			l := &c.leaves[i]
			if l.ordered {
				continue
			}
			refs, mask := c.sorted(w, l), w.window.indexMask()
			for piece := range c.pieces(l) {
				for j, ref := range refs[:len(piece)] {
					piece[j] = w.recs[ref&mask]
				}
				refs = refs[len(piece):]
			}
			l.ordered = true
		}
		return nil
	})
}

// shrink gives back the memory that the loaded records do not need.
func (c *carrier[R]) shrink() error {
	for i, w := range c.workers {
		if w == nil {
			continue
		}
		c.workers[i] = nil
		if err := w.memory.Free(); err != nil {
			return err
		}
	}
	c.pool.Memory.Discard(int(c.pool.Touched())*c.sizes.block*c.element, len(c.pool.Memory.Bytes()))
	return nil
}

// keptPlace is the place of a record: of which leaf, and how many are before it there.
type keptPlace struct {
	leaf int
	skip int64
}

// index cuts the first limit records into blocks of the size that Store would write.
func (c *carrier[R]) index(limit int64) (starts []keptPlace, blocks []device.KeptBlock) {
	record := make([]byte, c.record)
	at, before := 0, int64(0) // a leaf, and the records before it
	for first := int64(0); first < limit; first += int64(c.out) {
		for before+c.leaves[at].count <= first {
			before += c.leaves[at].count
			at++
		}
		start := keptPlace{at, first - before}
		c.readKept(start, record)
		starts = append(starts, start)
		blocks = append(blocks, device.KeptBlock{
			First: first, Records: int(min(int64(c.out), limit-first)), Key: c.opt.Keyer.Append(nil, record),
		})
	}
	return starts, blocks
}

// readKept fills dst with the records from a place on.
func (c *carrier[R]) readKept(at keptPlace, dst []byte) {
	for ; len(dst) > 0; at = (keptPlace{at.leaf + 1, 0}) {
		for piece := range c.pieces(&c.leaves[at.leaf]) {
			if len(dst) == 0 {
				break
			}
			skipped := min(int64(len(piece)), at.skip)
			at.skip -= skipped
			piece = piece[skipped:]
			piece = piece[:min(len(piece), len(dst)/c.record)]
			c.strip(dst, piece)
			dst = dst[len(piece)*c.record:]
		}
	}
}
