package cpu

import (
	"context"
	"errors"
	"slices"

	"github.com/extsort/extsort/device"
)

// Keep finishes the leaves in place: the elements of each leaf, which fits into the cache, go
// back to its blocks in order. Then it returns the scratch memory of the workers to the system,
// and memory that an earlier, larger chunk has touched. It returns nil if a leaf that is too
// large for the cache is already in order, because each read goes through a leaf from its start.
func (e *engine[K, E]) Keep(ctx context.Context, limit, memoryBytes int64) (*device.Kept, error) {
	limit = limitRecords(limit, e.stats.Records)
	if e.keptBytes() > memoryBytes {
		return nil, nil
	}
	if ok, err := e.canKeep(ctx); !ok || err != nil || e.keptBytes() > memoryBytes {
		return nil, err
	}
	if err := e.settleAll(ctx, limit); err != nil {
		return nil, err
	}
	e.countPasses()
	if err := e.freeWorkers(); err != nil {
		return nil, err
	}
	e.pool.DiscardUntouched()
	starts, blocks := e.index(limit)
	return &device.Kept{
		Blocks: blocks,
		Bytes:  e.keptBytes(),
		Read: func(i int, dst []byte) ([]byte, error) {
			dst = dst[:blocks[i].Records*e.sizes.record]
			e.read(starts[i], dst)
			return dst, nil
		},
	}, nil
}

// maxKeptLeaves limits the size of a sorted bucket that can be kept, as a multiple of the size of
// a leaf.
const maxKeptLeaves = 64

// canKeep reports whether the records can be read in place after all leaves are finished. It
// splits leaves with counted keys, which is necessary for that.
func (e *engine[K, E]) canKeep(ctx context.Context) (bool, error) {
	tooLarge := func(l leaf[K]) bool {
		return e.sizes.whole && l.count > maxKeptLeaves*int64(e.sizes.leaf)
	}
	if slices.ContainsFunc(e.leaves, tooLarge) {
		return false, nil
	}
	if e.kept != nil {
		e.kept.Discard(int(e.stats.Records)*e.sizes.record, len(e.kept.Bytes()))
	}
	err := splitter[K, E]{e}.splitAll(ctx, func(l *leaf[K]) bool { return l.counted > 0 })
	if errors.Is(err, errNoRoom) {
		return false, nil
	}
	return err == nil, err
}

// keptBytes returns the memory of the loaded records, without the scratch memory of the workers.
func (e *engine[K, E]) keptBytes() int64 {
	bytes := e.pool.Touched()*int64(
		e.sizes.block*e.sizes.element+8,
	) + e.stats.Records*int64(e.sizes.keptRecords)
	if e.sizes.whole {
		bytes += int64(e.sizes.orderBytes())
	}
	return bytes
}

// settleAll finishes the leaves that contain the first limit records.
func (e *engine[K, E]) settleAll(ctx context.Context, limit int64) error {
	end := 0
	for at := int64(0); end < len(e.leaves) && at < limit; end++ {
		at += e.leaves[end].count
	}
	return e.inOrder(ctx, end, func(_ context.Context, w *worker[K, E], i int) error {
		l := &e.leaves[i]
		if l.done {
			return nil
		}
		sorted := e.kind.finish(w, l, nil)
		for piece := range e.pieces(l, 0) {
			e.kind.place(w, piece, sorted[:len(piece)])
			sorted = sorted[len(piece):]
		}

		return nil
	})
}

// place is the position of a record: its leaf, and the number of records before it in the leaf.
type place struct {
	leaf int
	skip int64
}

// index divides the first limit records into blocks of the size that Store writes.
func (e *engine[K, E]) index(limit int64) (starts []place, blocks []device.KeptBlock) {
	record := make([]byte, e.sizes.record)
	at := 0
	before := int64(0) // a leaf, and the number of records before it
	for first := int64(0); first < limit; first += int64(e.sizes.out) {
		for before+e.leaves[at].count <= first {
			before += e.leaves[at].count
			at++
		}

		start := place{at, first - before}
		e.read(start, record)
		starts = append(starts, start)
		blocks = append(blocks, device.KeptBlock{
			First:   first,
			Records: int(min(int64(e.sizes.out), limit-first)),
			Key:     e.opt.Keyer.Append(nil, record),
		})
	}

	return starts, blocks
}

func (e *engine[K, E]) read(at place, dst []byte) {
	for ; len(dst) > 0; at = (place{at.leaf + 1, 0}) {
		for piece := range e.pieces(&e.leaves[at.leaf], at.skip) {
			piece = piece[:min(len(piece), len(dst)/e.sizes.record)]
			if dst = dst[len(moved(dst, e.kind.records(dst, piece))):]; len(dst) == 0 {
				break
			}
		}
	}
}
