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
	ctx context.Context,
	limit, memoryBytes int64,
) (*device.Retained, error) {
	limit = limitRecords(limit, p.stats.Records)
	if p.retainedBytes() > memoryBytes {
		return nil, nil
	}
	if ok, err := p.canRetain(ctx); !ok || err != nil ||
		p.retainedBytes() > memoryBytes {
		return nil, err
	}
	if err := p.sortLeaves(ctx, limit); err != nil {
		return nil, err
	}
	p.countPasses()
	if err := p.freeWorkers(); err != nil {
		return nil, err
	}
	p.pool.DiscardUntouched()
	starts, blocks := p.indexBlocks(limit)
	return &device.Retained{
		Blocks: blocks,
		Bytes:  p.retainedBytes(),
		Read: func(i int, dst []byte) ([]byte, error) {
			dst = dst[:blocks[i].Records*p.sizes.recordBytes]
			p.readFrom(starts[i], dst)
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
		return p.sizes.whole && l.count > maxRetainedLeaves*int64(p.sizes.leafElems)
	}
	if slices.ContainsFunc(p.leaves, tooLarge) {
		return false, nil
	}
	if p.loaded != nil {
		p.loaded.Discard(
			int(p.stats.Records)*p.sizes.recordBytes,
			len(p.loaded.Bytes()),
		)
	}
	err := splitter[K, E]{p}.splitAll(ctx, func(l *leaf[K]) bool {
		return l.majorityCount > 0
	})
	if errors.Is(err, errNoRoom) {
		return false, nil
	}
	return err == nil, err
}

// retainedBytes returns the memory of the loaded records, without the scratch memory of the
// workers.
func (p *pipeline[K, E]) retainedBytes() int64 {
	blockBytes := int64(p.sizes.blockElems*p.sizes.elementBytes + blockOverhead)
	bytes := p.pool.Touched() * blockBytes
	bytes += p.stats.Records * int64(p.sizes.storedRecordBytes)
	if p.sizes.whole {
		bytes += int64(p.sizes.orderBytes())
	}
	return bytes
}

// sortLeaves finishes the leaves that contain the first limit records.
func (p *pipeline[K, E]) sortLeaves(ctx context.Context, limit int64) error {
	end := 0
	for at := int64(0); end < len(p.leaves) && at < limit; end++ {
		at += p.leaves[end].count
	}
	return p.inOrder(ctx, end, func(_ context.Context, w *worker[K, E], i int) error {
		l := &p.leaves[i]
		if l.isSorted {
			return nil
		}
		sorted := p.kind.sortLeaf(w, l, nil)
		for piece := range p.pieces(l, 0) {
			p.kind.storeElements(w, piece, sorted[:len(piece)])
			sorted = sorted[len(piece):]
		}

		return nil
	})
}

// position is the position of a record: its leaf, and the number of records before it in the leaf.
type position struct {
	leaf int
	skip int64
}

// indexBlocks divides the first limit records into blocks of the size that Store writes.
func (p *pipeline[K, E]) indexBlocks(
	limit int64,
) (starts []position, blocks []device.RetainedBlock) {
	record := make([]byte, p.sizes.recordBytes)
	current := 0       // the leaf that contains record first
	before := int64(0) // number of records before that leaf
	for first := int64(0); first < limit; first += int64(p.sizes.outRecords) {
		for before+p.leaves[current].count <= first {
			before += p.leaves[current].count
			current++
		}

		start := position{leaf: current, skip: first - before}
		p.readFrom(start, record)
		starts = append(starts, start)
		blocks = append(blocks, device.RetainedBlock{
			First:   first,
			Records: int(min(int64(p.sizes.outRecords), limit-first)),
			Key:     p.opt.Keyer.Append(nil, record),
		})
	}

	return starts, blocks
}

// readFrom fills dst with the sorted records from a position on.
func (p *pipeline[K, E]) readFrom(at position, dst []byte) {
	for len(dst) > 0 {
		for piece := range p.pieces(&p.leaves[at.leaf], at.skip) {
			n := min(len(piece), len(dst)/p.sizes.recordBytes)
			recs := copyTo(dst, p.kind.recordsOf(dst, piece[:n]))
			dst = dst[len(recs):]
			if len(dst) == 0 {
				return
			}
		}
		at = position{leaf: at.leaf + 1}
	}
}
