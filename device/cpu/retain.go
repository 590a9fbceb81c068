package cpu

import (
	"context"
	"errors"
	"slices"

	"github.com/extsort/extsort/device"
)

// Retain finishes the leaves in place: the elements of each leaf, which fits into the cache, go
// back to its blocks in order. Then it returns the scratch memory of the workers to the system,
// and memory that an earlier, larger chunk has touched. It returns nil if a leaf that is too
// large for the cache is already in order, because each read goes through a leaf from its start.
func (p *pipeline[K, E]) Retain(
	ctx context.Context, limit, memoryBytes int64,
) (*device.Retained, error) {
	limit = limitRecords(limit, p.stats.Records)
	if p.retainedBytes() > memoryBytes {
		return nil, nil
	}
	if ok, err := p.canRetain(ctx); !ok || err != nil ||
		p.retainedBytes() > memoryBytes {
		return nil, err
	}
	if err := p.settleAll(ctx, limit); err != nil {
		return nil, err
	}
	p.countPasses()
	if err := p.freeWorkers(); err != nil {
		return nil, err
	}
	p.pool.DiscardUntouched()
	starts, blocks := p.index(limit)
	return &device.Retained{
		Blocks: blocks,
		Bytes:  p.retainedBytes(),
		Read: func(i int, dst []byte) ([]byte, error) {
			dst = dst[:blocks[i].Records*p.sizes.record]
			p.read(starts[i], dst)
			return dst, nil
		},
	}, nil
}

// maxRetainedLeaves limits the size of a sorted bucket that can be kept, as a multiple of the
// size of a leaf.
const maxRetainedLeaves = 64

// canRetain reports whether the records can be read in place after all leaves are finished. It
// splits leaves with counted keys, which is necessary for that.
func (p *pipeline[K, E]) canRetain(ctx context.Context) (bool, error) {
	tooLarge := func(l leaf[K]) bool {
		return p.sizes.whole && l.count > maxRetainedLeaves*int64(p.sizes.leaf)
	}
	if slices.ContainsFunc(p.leaves, tooLarge) {
		return false, nil
	}
	if p.loaded != nil {
		p.loaded.Discard(
			int(p.stats.Records)*p.sizes.record, len(p.loaded.Bytes()),
		)
	}
	err := splitter[K, E]{p}.splitAll(ctx, func(l *leaf[K]) bool {
		return l.counted > 0
	})
	if errors.Is(err, errNoRoom) {
		return false, nil
	}
	return err == nil, err
}

// retainedBytes returns the memory of the loaded records, without the scratch memory of the
// workers.
func (p *pipeline[K, E]) retainedBytes() int64 {
	bytes := p.pool.Touched()*int64(
		p.sizes.block*p.sizes.element+8,
	) + p.stats.Records*int64(p.sizes.storedRecordBytes)
	if p.sizes.whole {
		bytes += int64(p.sizes.orderBytes())
	}
	return bytes
}

// settleAll finishes the leaves that contain the first limit records.
func (p *pipeline[K, E]) settleAll(ctx context.Context, limit int64) error {
	end := 0
	for at := int64(0); end < len(p.leaves) && at < limit; end++ {
		at += p.leaves[end].count
	}
	return p.inOrder(ctx, end, func(_ context.Context, w *worker[K, E], i int) error {
		l := &p.leaves[i]
		if l.done {
			return nil
		}
		sorted := p.kind.finish(w, l, nil)
		for piece := range p.pieces(l, 0) {
			p.kind.place(w, piece, sorted[:len(piece)])
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
func (p *pipeline[K, E]) index(
	limit int64,
) (starts []place, blocks []device.RetainedBlock) {
	record := make([]byte, p.sizes.record)
	at := 0
	before := int64(0) // a leaf, and the number of records before it
	for first := int64(0); first < limit; first += int64(p.sizes.out) {
		for before+p.leaves[at].count <= first {
			before += p.leaves[at].count
			at++
		}

		start := place{at, first - before}
		p.read(start, record)
		starts = append(starts, start)
		blocks = append(blocks, device.RetainedBlock{
			First:   first,
			Records: int(min(int64(p.sizes.out), limit-first)),
			Key:     p.opt.Keyer.Append(nil, record),
		})
	}

	return starts, blocks
}

func (p *pipeline[K, E]) read(at place, dst []byte) {
	for ; len(dst) > 0; at = (place{at.leaf + 1, 0}) {
		for piece := range p.pieces(&p.leaves[at.leaf], at.skip) {
			piece = piece[:min(len(piece), len(dst)/p.sizes.record)]
			if dst = dst[len(moved(dst, p.kind.records(dst, piece))):]; len(dst) == 0 {
				break
			}
		}
	}
}
