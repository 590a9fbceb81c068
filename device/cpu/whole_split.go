package cpu

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"unsafe"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// keyRest is the number of the first bit of the key that a prefix has not.
const keyRest = 64

// longKeys says that a prefix is not the whole key.
func (c *wholes[R]) longKeys() bool { return 8*c.keyer.KeySize() > keyRest }

// sort splits parts that are too large for the cache until none is left, several at a time, the largest first.
func (c *wholes[R]) sort(ctx context.Context) error {
	for {
		large := c.tooLarge()
		if len(large) == 0 {
			return nil
		}
		if err := c.splitSome(ctx, large); err != nil {
			return err
		}
		c.engine.leaves = mergeSplit(c.pool, c.engine.leaves, int64(c.engine.leaf))
	}
}

// tooLarge is the largest of the parts that are to be split, by their indexes: as many as there are workers for,
// and free blocks.
func (c *wholes[R]) tooLarge() (large []int) {
	for i := range c.engine.leaves {
		if l := &c.engine.leaves[i]; l.count > int64(c.engine.leaf) && !l.done {
			large = append(large, i)
		}
	}
	slices.SortFunc(large, func(a, b int) int { return cmp.Compare(c.engine.leaves[b].count, c.engine.leaves[a].count) })
	most := min(c.engine.sizes.workers, max(1, int(c.pool.Available())/(c.blocksToSplit()+minSplit)))
	large = large[:min(len(large), most)]
	slices.Sort(large)
	return large
}

// blocksToSplit is how many blocks a split needs beside one for each of the parts: of each list that is read one is
// in use.
func (c *wholes[R]) blocksToSplit() int { return len(c.lists) + 1 }

// splitSome splits some leaves, each by a worker, with their shares of the free blocks.
func (c *wholes[R]) splitSome(ctx context.Context, large []int) error {
	if err := c.engine.makeWorkers(len(large)); err != nil {
		return err
	}
	free := int(c.pool.Available()) / len(large)
	parts := make([][]leaf[uint64], len(large))
	err := c.engine.each(ctx, len(large), func(ctx context.Context, i int, w *wholeWorker[R]) (err error) {
		parts[i], err = c.split(ctx, w, c.engine.leaves[large[i]], free)
		return err
	})
	if err != nil {
		return err
	}
	for i, at := range slices.Backward(large) {
		c.engine.leaves = slices.Replace(c.engine.leaves, at, at+1, parts[i]...)
	}
	return nil
}

// mergeSplit joins neighbouring parts that were split off and have at most so many records together: so the blocks
// that are not full stay few however often buckets are split.
func mergeSplit[R word](p *pool.Pool[R], leaves []leaf[uint64], most int64) []leaf[uint64] {
	merged := leaves[:0]
	for _, l := range leaves {
		if n := len(merged); n > 0 && l.flat && !l.done {
			if to := &merged[n-1]; to.flat && !to.done && to.zone == l.zone && to.count+l.count <= most {
				p.Join(&to.List, l.List)
				to.List = p.Pack(to.zone, to.List, true)
				to.count += l.count
				continue
			}
		}
		merged = append(merged, l)
	}
	return merged
}

// split moves the records of a part to several, in the order of the input, with so many free blocks; or finds that
// it is in order.
func (c *wholes[R]) split(ctx context.Context, w *wholeWorker[R], l leaf[uint64], free int,
) ([]leaf[uint64], error) {
	keys := leafSample / (1 + len(c.lists)) // of several workers at once
	sample, low, high := c.survey(w, &l, false, keys)
	rest := low == high && c.longKeys()
	if rest {
		sample, low, high = c.survey(w, &l, true, keys)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if low == high {
		l.done = true
		return []leaf[uint64]{l}, nil
	}
	count := min(2*c.engine.buckets(l.count), c.engine.maxBuckets(), free-c.blocksToSplit())
	if count < 2 {
		return nil, pool.ErrFull
	}
	b := radix.NewBuckets(low, high, count, 0) // these part the least key from the greatest
	if l.depth == 0 {
		b = radix.FittedBuckets(sample, low, high, count, 0)
	}
	w.lines.Reset(b.Count(), l.zone, 1)
	for piece := range c.pieces(&l, 0) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for words := range slices.Chunk(piece, len(w.keys)) {
			radix.Distribute(&w.lines, &b, w.bitsOf(c.keyer, words, rest), words, radix.PutFast[R])
		}
		if block, ended := endOf(c.pool, piece); ended {
			w.lines.Recycle(block)
		}
	}
	w.lines.Finish()
	w.lines.GiveBack()
	var parts []leaf[uint64]
	for _, list := range w.lines.Lists[:b.Count()] {
		if count := c.pool.Count(list); count > 0 {
			parts = append(parts, leaf[uint64]{flat: true, List: list, zone: l.zone, count: count, depth: l.depth + 1})
		}
	}
	return parts, nil
}

// endOf is the block of a piece, and whether it ends there.
func endOf[R word](p *pool.Pool[R], piece []R) (block uint32, ended bool) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(piece))) - uintptr(unsafe.Pointer(unsafe.SliceData(p.Elems)))
	end := int(start/unsafe.Sizeof(piece[0])) + len(piece)
	block = uint32((end - 1) >> p.Shift)
	return block, end == int(block)<<p.Shift+int(p.Used[block])
}

// survey gives the range of the keys of a part, or of their rests, and about so many of them.
func (c *wholes[R]) survey(w *wholeWorker[R], l *leaf[uint64], rest bool, keys int,
) (sample []uint64, low, high uint64) {
	step := int(l.count/int64(keys)) + 1
	low, high = ^uint64(0), 0
	at := 0
	for piece := range c.pieces(l, 0) {
		for words := range slices.Chunk(piece, len(w.keys)) {
			keys := w.bitsOf(c.keyer, words, rest)
			least, greatest := radix.MinMax(keys)
			low, high = min(low, least), max(high, greatest)
			for ; at < len(keys); at += step {
				sample = append(sample, keys[at])
			}
			at -= len(keys)
		}
	}
	return sample, low, high
}

// bitsOf is the prefixes of the keys of words, or their rests, in w.keys.
func (w *wholeWorker[R]) bitsOf(k *format.Keyer, words []R, rest bool) []uint64 {
	keys := w.keys[:len(words)]
	if rest {
		k.Windows(keys, arena.ByteView(words), keyRest, 64)
	} else {
		k.Prefixes(keys, arena.ByteView(words))
	}
	return keys
}

// pieces gives the records of a leaf in the order of the input, or settled. What it has given may be recycled.
func (c *wholes[R]) pieces(l *leaf[uint64], skip int64) iter.Seq[[]R] {
	return func(yield func([]R) bool) {
		rest := func(piece []R) bool {
			skipped := min(skip, int64(len(piece)))
			skip -= skipped
			return int64(len(piece)) == skipped || yield(piece[skipped:])
		}
		if !l.flat {
			c.eachPiece(l.bucket, rest)
			return
		}
		for b := l.Head; b != pool.None; {
			content := c.pool.Content(b)
			if b = c.pool.Next[b]; !rest(content) {
				return
			}
		}
	}
}

// eachPiece is pieces of a bucket of the order.
func (c *wholes[R]) eachPiece(bucket int, yield func([]R) bool) {
	type cursor struct {
		rest []R    // of the block before next that is yet to be given
		next uint32 // block
		done uint32 // records before rest
	}
	var few [16]cursor
	cursors := few[:0]
	for _, lists := range c.lists {
		cursors = append(cursors, cursor{next: lists[bucket].Head})
	}
	for i := range c.order.segments {
		s := &c.order.segments[i]
		cur := &cursors[s.worker]
		end := c.order.endsOf(s.slot)[bucket]
		for n := int(end - cur.done); n > 0; {
			if len(cur.rest) == 0 {
				cur.rest, cur.next = c.pool.Content(cur.next), c.pool.Next[cur.next]
			}
			piece := cur.rest[:min(n, len(cur.rest))]
			cur.rest, n = cur.rest[len(piece):], n-len(piece)
			if !yield(piece) {
				return
			}
		}
		cur.done = end
	}
}
