package cpu

import (
	"context"
	"iter"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

func (c *elements[E]) store(ctx context.Context, w *worker[E], t task[E], to device.BlockWriter) error {
	switch {
	case t.leaves[0].done:
		return c.engine.storeDone(ctx, t, w.out, to)
	case len(t.leaves) > 1:
		return to.WriteBlock(ctx, t.first, c.joined(w, t))
	}
	elems := c.finish(w, &t.leaves[0], w.a)[:t.count]
	return writeInBlocks(ctx, to, t.first, len(elems), c.engine.out, func(from, n int) []byte {
		return c.codec.records(w.out, elems[from:from+n])
	})
}

// finish puts the elements of a leaf in order into dst.
func (c *elements[E]) finish(w *worker[E], l *leaf[E], dst []E) []E {
	dst = dst[:l.count]
	if inBlocks := l.count - l.counted; inBlocks > 0 {
		elems, tmp := dst[:inBlocks], w.b[:inBlocks]
		w.blocks = w.blocks[:0]
		for b := l.Head; b != pool.None; b = c.pool.Next[b] {
			w.blocks = append(w.blocks, c.pool.Content(b))
		}
		s := radix.SpanOf(l.low, l.high)
		if s.Width == 8*c.engine.element {
			s = radix.SpanOfBlocks(w.blocks)
		}
		w.radix.Sort(elems, tmp, w.blocks, s)
		refine(c.codec, &w.radix, elems, tmp, l.from)
	}
	if l.counted > 0 {
		radix.InsertEqual(dst, int(l.count-l.counted), l.majority)
	}
	return dst
}

// joined gives the records of several leaves that fill one block together.
func (c *elements[E]) joined(w *worker[E], t task[E]) []byte {
	size := c.engine.record
	n := 0
	for i := range t.leaves {
		if n == int(t.count)*size {
			break
		}
		l := &t.leaves[i]
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

// keeps makes leaves of the elements that were counted, which have no room in the blocks of their leaves. It is false
// where records were left where they lie.
func (c *elements[E]) keeps(ctx context.Context) (bool, error) {
	if c.kept.leftThere() {
		return false, nil
	}
	if c.kept != nil {
		c.kept.memory.Discard(int(c.engine.stats.Records)*c.engine.record, len(c.kept.memory.Bytes()))
	}
	return c.splitter().storeCounted(ctx)
}

func (c *elements[E]) besideBytes() int64 {
	return c.engine.stats.Records * int64(c.engine.keptRecords)
}

func (c *elements[E]) settle(w *worker[E], l *leaf[E]) {
	elems := c.finish(w, l, w.a)
	for b := l.Head; b != pool.None; b = c.pool.Next[b] {
		elems = elems[copy(c.pool.Content(b), elems):]
	}
}

func (c *elements[E]) records(dst []byte, elems []E) []byte { return c.codec.records(dst, elems) }

// equalPiece is how many elements of a leaf without blocks are made at a time.
const equalPiece = 512

func (c *elements[E]) pieces(l *leaf[E], skip int64) iter.Seq[[]E] {
	return func(yield func([]E) bool) {
		if l.done {
			equal := make([]E, min(equalPiece, l.count-skip))
			radix.Fill(equal, l.low)
			for left := l.count - skip; left > 0 && yield(equal[:min(left, equalPiece)]); left -= equalPiece {
			}
			return
		}
		for b := l.Head; b != pool.None; b = c.pool.Next[b] {
			content := c.pool.Content(b)
			skipped := min(skip, int64(len(content)))
			if skip -= skipped; int64(len(content)) > skipped && !yield(content[skipped:]) {
				return
			}
		}
	}
}
