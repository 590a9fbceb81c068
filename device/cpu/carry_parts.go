package cpu

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"
	"unsafe"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// part is a bucket, a part of one that was split, or those records of either whose keys are in a range.
type part struct {
	bucket int  // of the order
	flat   bool // it is of a split: its blocks are those of list, in order
	pool.List
	zone  int
	count int64
	depth int // of the splits that made it

	within   bool      // only records in range count, else all
	prefixes [2]uint64 // the least and the greatest prefix of their keys
	rests    [2]uint64 // of those with but one prefix, what follows it in the keys

	ordered bool // the records are in order as they stand
}

// keyRest is the number of the first bit of the key that a prefix has not.
const keyRest = 64

// longKeys says that a prefix is not the whole key.
func (c *carrier[R]) longKeys() bool { return 8*c.keyer.KeySize() > keyRest }

// Sort splits parts that are too large for the cache until none is left, several at a time, the largest first.
func (c *carrier[R]) Sort(ctx context.Context) error {
	defer seconds(&c.stats.Sort, time.Now())
	for {
		var large []int
		total := int64(0)
		for i := range c.leaves {
			if l := &c.leaves[i]; l.count > int64(c.leaf) && !l.ordered && !l.within {
				large = append(large, i)
				total += l.count
			}
		}
		if len(large) == 0 {
			return nil
		}
		slices.SortFunc(large, func(a, b int) int { return cmp.Compare(c.leaves[b].count, c.leaves[a].count) })
		large = large[:min(len(large), c.sizes.workers)]
		slices.Sort(large)
		if err := c.splitSome(ctx, large, total); err != nil {
			return err
		}
	}
}

// splitSome splits some leaves, each by a worker, with their shares of the free blocks: total is the records of all leaves
// that are to be split.
func (c *carrier[R]) splitSome(ctx context.Context, large []int, total int64) error {
	if err := c.makeWorkers(len(large)); err != nil {
		return err
	}
	free := c.pool.Available()
	parts := make([][]part, len(large))
	err := c.each(ctx, len(large), func(ctx context.Context, i int, w *carryWorker[R]) (err error) {
		l := c.leaves[large[i]]
		parts[i], err = c.split(ctx, w, l, int(float64(free)*float64(l.count)/float64(total)))
		return err
	})
	if err != nil {
		return err
	}
	for i, at := range slices.Backward(large) {
		c.leaves = slices.Replace(c.leaves, at, at+1, parts[i]...)
	}
	return nil
}

// split moves the records of a part to several, in the order of the input, with so many free blocks; or finds that it is in
// order. Without blocks to speak of nothing is moved, and the parts are taken from it, each in its turn, which reads all
// of it for each.
func (c *carrier[R]) split(ctx context.Context, w *carryWorker[R], l part, free int) ([]part, error) {
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
		l.ordered = true
		return []part{l}, nil
	}
	// Every new part may have a block that is not full, and of each list that is read one is in use.
	count := min(2*c.buckets(l.count), c.maxBuckets(), free-len(c.lists)-1)
	if count < 2 {
		l.prefixes, l.rests = [2]uint64{0, ^uint64(0)}, [2]uint64{0, ^uint64(0)}
		return c.cut(w, l, 0), ctx.Err()
	}
	b := radix.NewBuckets(low, high, count, 0) // these part the least key from the greatest
	if l.depth == 0 {
		b = radix.FittedBuckets(sample, low, high, count, 0)
	}
	w.lines.Reset(b.Count(), l.zone, 1)
	for piece := range c.pieces(&l) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for words := range slices.Chunk(piece, len(w.keys)) {
			radix.Distribute(&w.lines, &b, c.keysOf(w, words, rest), words, radix.PutFast[R])
		}
		if block, ended := c.endOf(piece); ended {
			w.lines.Recycle(block)
		}
	}
	w.lines.Finish()
	w.lines.GiveBack()
	var parts []part
	for _, list := range w.lines.Lists[:b.Count()] {
		if count := c.pool.Count(list); count > 0 {
			parts = append(parts, part{flat: true, List: list, zone: l.zone, count: count, depth: l.depth + 1})
		}
	}
	return parts, nil
}

// endOf is the block of a piece, and whether it ends there.
func (c *carrier[R]) endOf(piece []R) (block uint32, ended bool) {
	start := uintptr(unsafe.Pointer(unsafe.SliceData(piece))) - uintptr(unsafe.Pointer(unsafe.SliceData(c.pool.Elems)))
	end := int(start)/c.element + len(piece)
	block = uint32((end - 1) >> c.pool.Shift)
	return block, end == int(block)<<c.pool.Shift+int(c.pool.Used[block])
}

// cut counts how to take a part that is too large in parts of it. depth counts the cuts that led to it.
func (c *carrier[R]) cut(w *carryWorker[R], l part, depth int) []part {
	rest := l.prefixes[0] == l.prefixes[1]
	limits := &l.prefixes
	if rest {
		limits = &l.rests
	}
	sample, low, high := c.survey(w, &l, rest, leafSample/(1+len(c.lists)))
	*limits = [2]uint64{low, high}
	if low == high {
		if rest || !c.longKeys() {
			l.ordered = true
			return []part{l}
		}
		return c.cut(w, l, depth+1)
	}
	wanted := min(max(4*int(l.count/int64(c.leaf)), radix.FewestFitted), radix.MaxBuckets)
	b := radix.NewBuckets(low, high, wanted, 0) // these part the least key from the greatest
	if depth == 0 {
		b = radix.FittedBuckets(sample, low, high, wanted, 0)
	}
	counts := make([]int64, b.Count())
	c.eachBatch(w, &l, rest, func(_ []R, keys []uint64) {
		for _, key := range keys {
			counts[b.Of(key)]++
		}
	})
	var parts []part
	add := func(first, last int, count int64) {
		p := l
		p.within, p.count = true, count
		from, _ := b.Span(first, low, high)
		_, to := b.Span(last, low, high)
		if rest {
			p.rests = [2]uint64{from, to}
		} else {
			p.prefixes = [2]uint64{from, to}
		}
		if count > int64(c.leaf) {
			parts = append(parts, c.cut(w, p, depth+1)...)
			return
		}
		parts = append(parts, p)
	}
	for first := 0; first < len(counts); {
		last, count := first, counts[first]
		for last+1 < len(counts) && count+counts[last+1] <= int64(c.leaf) {
			last++
			count += counts[last]
		}
		if count > 0 {
			add(first, last, count)
		}
		first = last + 1
	}
	return parts
}

// survey gives the range of the keys of a part, or of their rests, and about so many of them.
func (c *carrier[R]) survey(w *carryWorker[R], l *part, rest bool, keys int) (sample []uint64, low, high uint64) {
	step := int(l.count/int64(keys)) + 1
	low, high = ^uint64(0), 0
	at := 0
	c.eachBatch(w, l, rest, func(_ []R, keys []uint64) {
		least, greatest := radix.MinMax(keys)
		low, high = min(low, least), max(high, greatest)
		for ; at < len(keys); at += step {
			sample = append(sample, keys[at])
		}
		at -= len(keys)
	})
	return sample, low, high
}

// eachBatch calls f with the records of a part in the order of the input, and prefixes of their keys or rests, some at a time.
func (c *carrier[R]) eachBatch(w *carryWorker[R], l *part, rest bool, f func(words []R, keys []uint64)) {
	for piece := range c.pieces(l) {
		for words := range slices.Chunk(piece, len(w.keys)) {
			if l.within {
				words = c.sift(l, w.words[:copy(w.words, words)], c.keysOf(w, words, false))
			}
			if len(words) > 0 {
				f(words, c.keysOf(w, words, rest))
			}
		}
	}
}

// keysOf is the prefixes of the keys of words, or their rests, in w.keys.
func (c *carrier[R]) keysOf(w *carryWorker[R], words []R, rest bool) []uint64 {
	keys := w.keys[:len(words)]
	if rest {
		c.keyer.Windows(keys, arena.ByteView(words), keyRest, 64)
	} else {
		c.keyer.Prefixes(keys, arena.ByteView(words))
	}
	return keys
}

// sift moves the records of a part to the start of words, and gives them. keys are the prefixes of all.
func (c *carrier[R]) sift(l *part, words []R, keys []uint64) []R {
	n := 0
	for i, key := range keys {
		words[n] = words[i]
		if l.prefixes[0] <= key && key <= l.prefixes[1] && c.restWithin(l, words[n:n+1]) {
			n++
		}
	}
	return words[:n]
}

// restWithin reports whether what follows the prefix in the key of a record, if it counts, is in the range of a part.
func (c *carrier[R]) restWithin(l *part, word []R) bool {
	if l.prefixes[0] != l.prefixes[1] || !c.longKeys() {
		return true
	}
	rest := c.keyer.Window(arena.ByteView(word), keyRest, 64)
	return l.rests[0] <= rest && rest <= l.rests[1]
}

// pieces gives the records that a part is of in the order of the input, as they lie. What it has given may be recycled.
func (c *carrier[R]) pieces(l *part) iter.Seq[[]R] {
	if l.flat {
		return func(yield func([]R) bool) {
			for b := l.Head; b != pool.None; {
				content := c.pool.Content(b)
				if b = c.pool.Next[b]; !yield(content) {
					return
				}
			}
		}
	}
	return func(yield func([]R) bool) { c.eachPiece(l.bucket, yield) }
}

// eachPiece is pieces of a bucket of the order.
func (c *carrier[R]) eachPiece(bucket int, yield func([]R) bool) {
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
	for i := range c.order.stints {
		s := &c.order.stints[i]
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
