package cpu

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"time"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/radix"
)

// carryTask is what a worker stores at a time: neighbouring parts that fill one block together, one part, or a stretch of one
// that is in order.
type carryTask struct {
	parts []part
	skip  int64 // records of the one part that is in order
	first int64 // record of the sorted order
	count int64 // records to store
}

// Store writes the records and keeps them.
func (c *carrier[R]) Store(ctx context.Context, limit int64, w device.BlockWriter) error {
	return c.storeAll(ctx, limit, w, nil)
}

// Drain gives the memory of a zone back when the last of its records have been written, see chunk.Drain.
func (c *carrier[R]) Drain(ctx context.Context, limit int64, w device.BlockWriter) error {
	records := make([]int64, len(c.pool.Zones))
	for _, l := range c.leaves {
		records[l.zone] += l.count
	}
	return c.storeAll(ctx, limit, w, newUsage(c.pool, records))
}

func (c *carrier[R]) storeAll(ctx context.Context, limit int64, w device.BlockWriter, zones *usage) error {
	defer seconds(&c.stats.Store, time.Now())
	tasks := c.tasks(limit)
	workers := max(1, min(len(tasks), c.sizes.workers))
	if err := c.makeWorkers(workers); err != nil {
		return err
	}
	s := storing{tasks: len(tasks), zones: zones}
	err := c.each(ctx, workers, func(ctx context.Context, _ int, wk *carryWorker[R]) error {
		return s.work(func(i int) (first, count int64, err error) {
			return tasks[i].first, tasks[i].count, c.store(ctx, wk, tasks[i], w)
		})
	})
	c.countPasses()
	return err
}

// tasks cuts the first limit records into tasks.
func (c *carrier[R]) tasks(limit int64) []carryTask {
	if limit < 0 || limit > c.stats.Records {
		limit = c.stats.Records
	}
	var tasks []carryTask
	block := int64(c.out)
	at := int64(0)
	add := func(parts []part, skip, count int64) {
		if count = min(count, limit-at); count > 0 {
			tasks = append(tasks, carryTask{parts, skip, at, count})
			at += count
		}
	}
	for i := 0; i < len(c.leaves); {
		l, end := &c.leaves[i], i+1
		count := l.count
		if l.ordered {
			stretch := max(block, count/int64(8*c.sizes.workers)) // to skip records takes time as well
			if l.within {
				stretch = count // and here as long as to copy them
			}
			for skip := int64(0); skip < count; skip += stretch {
				add(c.leaves[i:end], skip, min(stretch, count-skip))
			}
			i = end
			continue
		}
		for end < len(c.leaves) && !c.leaves[end].ordered && count+c.leaves[end].count <= block {
			count += c.leaves[end].count
			end++
		}
		add(c.leaves[i:end], 0, count)
		i = end
	}
	return tasks
}

// store sorts the parts of a task and writes them.
func (c *carrier[R]) store(ctx context.Context, w *carryWorker[R], t carryTask, to device.BlockWriter) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.parts[0].ordered {
		return c.storeOrdered(ctx, w, t, to)
	}
	if len(t.parts) > 1 {
		n := 0
		for i := 0; n < int(t.count); i++ {
			refs := c.sorted(w, &t.parts[i])
			refs = refs[:min(len(refs), int(t.count)-n)]
			c.follow(w, w.out[n*c.record:], refs)
			n += len(refs)
		}
		return to.WriteBlock(ctx, t.first, w.out[:n*c.record])
	}
	refs := c.sorted(w, &t.parts[0])
	return writeInBlocks(ctx, to, t.first, int(t.count), c.out, func(from, n int) []byte {
		c.follow(w, w.out, refs[from:from+n])
		return w.out[:n*c.record]
	})
}

// storeOrdered writes records that are in order as they stand, by way of w.recs.
func (c *carrier[R]) storeOrdered(ctx context.Context, w *carryWorker[R], t carryTask, to device.BlockWriter) (err error) {
	skip, first, left := t.skip, t.first, t.count
	n := 0 // records in w.recs
	flush := func() {
		if err == nil {
			err = writeInBlocks(ctx, to, first, n, c.out, func(from, n int) []byte {
				c.strip(w.out, w.recs[from:from+n])
				return w.out[:n*c.record]
			})
		}
		first, n = first+int64(n), 0
	}
	add := func(words []R) {
		skipped := min(int64(len(words)), skip)
		skip, words = skip-skipped, words[skipped:]
		words = words[:min(int64(len(words)), left)]
		left -= int64(len(words))
		for len(words) > 0 {
			copied := copy(w.recs[n:], words)
			if n, words = n+copied, words[copied:]; n == len(w.recs) {
				flush()
			}
		}
	}
	if t.parts[0].within {
		c.eachBatch(w, &t.parts[0], false, func(words []R, _ []uint64) { add(words) })
	} else {
		for piece := range c.pieces(&t.parts[0]) {
			if add(piece); left == 0 || err != nil {
				break
			}
		}
	}
	flush()
	return err
}

// sorted copies the records of a part to w.recs, and gives references to them in order.
func (c *carrier[R]) sorted(w *carryWorker[R], l *part) []uint64 {
	recs, refs, tmp := w.recs[:l.count], w.refs[:l.count], w.tmp[:l.count]
	c.gather(w, l, recs)
	c.keyer.Prefixes(refs, arena.ByteView(recs))
	low, high := radix.MinMax(refs)
	prefixBits, keyBits := c.keyer.PrefixBits(), 8*c.keyer.KeySize()
	from := prefixBits - bits.Len64(low^high)
	held, indexBits := w.window.windowBits, w.window.indexBits
	if from+held <= prefixBits || keyBits == prefixBits {
		up, down := uint(64-prefixBits+from), uint(64-held)
		for i, prefix := range refs {
			refs[i] = prefix<<up>>down<<indexBits | uint64(i)
		}
	} else {
		c.keyer.Windows(refs, arena.ByteView(recs), from, held)
		for i, window := range refs {
			refs[i] = window<<indexBits | uint64(i)
		}
	}
	if left := keyBits - from; left <= 2*radix.DigitBits {
		// The references are in the order of the places: that need not be ranked.
		p := radix.Exactly(left)
		p.Shift = indexBits + uint(held-left)
		w.radix.Reorder(refs, tmp, w.radix.One(refs), 0, p)
		return refs
	}
	w.radix.SortInPlace(refs, tmp)
	c.refine(w, refs, tmp, from)
	return refs
}

// refine orders neighbours that tie in what references hold of the key, from bit from on, before it ends. Nearly always
// they have the same key and are in order, as the references hold the rest of most keys.
func (c *carrier[R]) refine(w *carryWorker[R], refs, tmp []uint64, from int) {
	tieBits, mask := w.window.tieBits(from), w.window.indexMask()
	if tieBits == 0 {
		return
	}
	var keys []uint64 // whole ones
	for i, end := 0, 0; i < len(refs); i = end {
		end = endOfTie(refs, i, tieBits)
		group := refs[i:end]
		switch {
		case len(group) == 1 || c.sameKeys(w, group):
		case c.longKeys():
			settle(w.window, &w.radix, group, tmp[i:end], from)
		default:
			if keys == nil {
				keys = tmp
				c.keyer.Prefixes(keys, arena.ByteView(w.recs[:len(refs)]))
			}
			slices.SortStableFunc(group, func(a, b uint64) int { return cmp.Compare(keys[a&mask], keys[b&mask]) })
		}
	}
}

// sameKeys reports whether all records of a group have the same key.
func (c *carrier[R]) sameKeys(w *carryWorker[R], group []uint64) bool {
	recs, mask, words := arena.View[uint64](arena.ByteView(w.recs)), w.window.indexMask(), uint64(len(c.key))
	for k, key := range c.key {
		first, differ := recs[(group[0]&mask)*words+uint64(k)], uint64(0)
		for _, ref := range group[1:] {
			differ |= recs[(ref&mask)*words+uint64(k)] ^ first
		}
		if differ&key != 0 {
			return false
		}
	}
	return true
}

// gather copies the records of a part in the order of the input.
func (c *carrier[R]) gather(w *carryWorker[R], l *part, dst []R) {
	if l.within {
		c.eachBatch(w, l, false, func(words []R, _ []uint64) { dst = dst[copy(dst, words):] })
		return
	}
	for piece := range c.pieces(l) {
		dst = dst[copy(dst, piece):]
	}
}

// follow writes the records that refs refer to.
func (c *carrier[R]) follow(w *carryWorker[R], dst []byte, refs []uint64) {
	recs, mask := w.recs, w.window.indexMask()
	if c.record == c.element {
		out := arena.View[R](dst)[:len(refs)]
		for i, ref := range refs {
			out[i] = recs[ref&mask]
		}
		return
	}
	dst = dst[:len(refs)*c.record]
	whole := wholeWords[R](len(dst), c.record)
	for i, ref := range refs[:whole] {
		*(*R)(unsafe.Pointer(&dst[i*c.record])) = recs[ref&mask] // as in unpad
	}
	for i := whole; i < len(refs); i++ {
		at := refs[i] & mask
		copy(dst[i*c.record:], arena.ByteView(recs[at : at+1])[:c.record])
	}
}

// strip writes records as they are.
func (c *carrier[R]) strip(dst []byte, words []R) {
	if c.record == c.element {
		copy(dst, arena.ByteView(words))
		return
	}
	unpad(dst[:len(words)*c.record], words, c.record)
}

func (c *carrier[R]) countPasses() {
	passes := 0
	for _, w := range c.workers {
		if w != nil {
			passes = max(passes, w.radix.Passes)
		}
	}
	c.stats.Passes = passes + 1
}
