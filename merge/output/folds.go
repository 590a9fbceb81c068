package output

import (
	"context"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/turns"
)

// FoldForm describes the output of Folds.
type FoldForm struct {
	Aggregation *format.Aggregation // combines the records that are written to Folds

	// Partial means that the results are combined again later. A sum that does not fit its result
	// is then divided into several results with the same key. Without Partial, such a sum is an
	// error. REQUIRES: Aggregation.CombinesRuns
	Partial bool

	// Limit is the number of results that are needed. Errors of later results are ignored. 0 means
	// that all results are needed.
	Limit int64

	// Memory is shared with other Folds of the same Aggregation. nil means that it is not shared.
	Memory *FoldMemory

	// BlockBytes is the maximum size of the blocks in which results are collected. Only a block
	// with a single result may be larger. With 0, the results of each block are written
	// immediately.
	BlockBytes int
}

// Folds is a BlockWriter that combines records with equal keys, as its Aggregation says, and writes
// the results with new consecutive indexes. Like Groups, it reduces blocks concurrently and joins
// their ends in order:
//
//	block       a a b b b c │ c c c │ c d d
//	reduced     a   b     c │ c     │ c d
//	joined      a   b       │       │ c       … d at Flush
//
// Sums of floats depend on the order of their additions. Therefore, records that continue a group
// of an earlier block are not reduced first, but added one after another.
type Folds struct {
	opt  FoldForm
	next device.BlockWriter

	memory *FoldMemory

	turns    turns.Queue // the call whose turn it is may access the fields below
	written  int64       // number of results so far
	open     *format.Fold
	gathered []byte // results for the next block
}

// NewFolds returns a Folds that writes to next.
func NewFolds(opt FoldForm, next device.BlockWriter) *Folds {
	memory := opt.Memory
	if memory == nil {
		memory = &FoldMemory{}
	}
	return &Folds{opt: opt, next: next, memory: memory, open: opt.Aggregation.NewFold()}
}

// FoldMemory is the memory of finished calls of Folds. Folds that write one run after the other
// share it, so that each run does not allocate its own. The zero value has no memory yet.
type FoldMemory struct {
	mu   sync.Mutex
	free []*reduction
}

// takeFinished returns the memory of a finished call, or nil if there is none.
func (m *FoldMemory) takeFinished() *reduction {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := len(m.free) - 1
	if last < 0 {
		return nil
	}
	r := m.free[last]
	m.free = m.free[:last]
	return r
}

// keepFinished keeps the memory of a finished call.
func (m *FoldMemory) keepFinished(r *reduction) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, r)
}

// reduction is the state of one call of WriteBlock.
type reduction struct {
	folds *Folds
	keys  [512]uint64

	head, tail *format.Fold // the first and the last result; tail is empty if there is only one
	isFirst    bool         // no result has begun

	// delayed are the records of the first group, if they must be added in order. head is then
	// empty.
	delayed []byte

	// between holds the results between head and tail, after free space for two results.
	between []byte
	ends    []byte // memory for the results before those in between
	spare   []byte // memory for the results that Folds gathers next
	err     error  // first error of the results in between
	errAt   int64  // number of results in between before the one with err
}

// newReduction returns a reduction for one call. When the call is finished, its memory returns to
// f.memory.
func (f *Folds) newReduction() *reduction {
	r := f.memory.takeFinished()
	if r == nil {
		r = &reduction{head: f.opt.Aggregation.NewFold(), tail: f.opt.Aggregation.NewFold()}
	}
	r.folds = f
	r.head.Reset()
	r.tail.Reset()
	r.isFirst = true
	r.delayed = nil
	r.between = append(r.between[:0], make([]byte, 2*f.opt.Aggregation.Size())...)
	r.err = nil
	return r
}

// WriteBlock writes the results that are known to be complete. It splits a block into pieces, so
// that the results of a piece need no more memory than the block, even if a result is longer than a
// record.
func (f *Folds) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	size := f.recordSize()
	most := max(len(recs)/max(f.opt.Aggregation.Size(), size), 1) * size
	for len(recs) > 0 {
		n := min(most, len(recs))
		if err := f.writePiece(ctx, first, recs[:n]); err != nil {
			return err
		}
		first += int64(n / size)
		recs = recs[n:]
	}
	return nil
}

// writePiece writes the results of a part of a block. recs must not be empty.
func (f *Folds) writePiece(ctx context.Context, first int64, recs []byte) error {
	r := f.newReduction()
	defer f.memory.keepFinished(r)
	r.reduce(recs)

	if err := f.turns.Wait(ctx, first); err != nil {
		return err
	}
	size := f.opt.Aggregation.Size()
	out, err := f.join(r)
	at := f.written
	f.written += int64(len(out) / size)
	if err == nil && f.opt.BlockBytes > 0 {
		out, at = f.gather(out, r)
	}
	f.turns.Pass(first+int64(len(recs)/f.recordSize()), err)
	if err != nil {
		return err
	}
	return f.write(ctx, at, out)
}

// recordSize returns the size of the records that are combined.
func (f *Folds) recordSize() int { return f.opt.Aggregation.Keyer().Layout().RecordSize }

// Flush writes the last result. REQUIRES: all blocks have been written
func (f *Folds) Flush(ctx context.Context) error {
	out := f.gathered
	f.gathered = nil
	at := f.written - int64(len(out)/f.opt.Aggregation.Size())
	if f.open.Records() > 0 {
		var err error
		if out, err = f.open.AppendResult(out); err != nil && f.isNeeded(f.written) {
			return err
		}
		f.open.Reset()
		f.written++
	}
	return f.write(ctx, at, out)
}

// write writes results as blocks.
func (f *Folds) write(ctx context.Context, at int64, out []byte) error {
	size := f.opt.Aggregation.Size()
	most := len(out)
	if f.opt.BlockBytes > 0 {
		most = max(f.opt.BlockBytes/size, 1) * size
	}
	for len(out) > 0 {
		n := min(most, len(out))
		if err := f.next.WriteBlock(ctx, at, out[:n]); err != nil {
			return err
		}
		at += int64(n / size)
		out = out[n:]
	}
	return nil
}

// isNeeded reports whether the result with an index is within the limit.
func (f *Folds) isNeeded(index int64) bool { return f.opt.Limit <= 0 || index < f.opt.Limit }

// gather adds results to the next block. If the block is full, it returns the block and the index
// of its first result. The block is in the memory of r.
func (f *Folds) gather(out []byte, r *reduction) (block []byte, at int64) {
	size := f.opt.Aggregation.Size()
	if len(f.gathered) == 0 && len(out) >= f.opt.BlockBytes/2 {
		return out, f.written - int64(len(out)/size)
	}
	f.gathered = append(f.gathered, out...)
	if len(f.gathered) < f.opt.BlockBytes/2 {
		return nil, 0
	}
	f.gathered, r.spare = r.spare[:0], f.gathered
	return r.spare, f.written - int64(len(r.spare)/size)
}

// reduce combines the records of a block. Most results are records that are the only ones with their
// keys. If these are their own results, they are copied together.
func (r *reduction) reduce(recs []byte) {
	aggregation := r.folds.opt.Aggregation
	isDelayed := !aggregation.InAnyGrouping()
	size := r.folds.recordSize()
	delay := func(from, to int) (next int) {
		if from > 0 || !isDelayed {
			return from
		}
		r.delayed = recs[:to]
		r.isFirst = false
		return to
	}
	g := grouping{
		group: func(from, to int) {
			if from = delay(from, to); from < to {
				r.add(recs[from:to])
			}
		},
		singles: func(from, to int) {
			if from = delay(from, from+size); from < to {
				r.addSingles(recs[from:to])
			}
		},
	}
	g.divide(aggregation.Keyer(), r.keys[:], recs)
}

// addSingles adds records with different keys.
func (r *reduction) addSingles(recs []byte) {
	size := r.folds.recordSize()
	if !r.folds.opt.Aggregation.KeepsSingles() {
		for at := 0; at < len(recs); at += size {
			r.begin().Add(recs[at : at+size])
		}
		return
	}
	if r.isFirst {
		r.begin().Add(recs[:size])
		recs = recs[size:]
	}
	if len(recs) == 0 {
		return
	}
	last := r.begin()
	r.between = append(r.between, recs[:len(recs)-size]...)
	last.Add(recs[len(recs)-size:])
}

// add combines records with the same key into a new result. With Partial, it makes several results
// if a sum does not fit into one.
func (r *reduction) add(recs []byte) {
	fold := r.begin()
	fold.Add(recs)
	size := r.folds.recordSize()
	if !r.folds.opt.Partial || len(recs) == size || fold.Fits() {
		return
	}
	fold.Reset()
	fold.Add(recs[:size])
	one := r.folds.opt.Aggregation.NewFold()
	for at := size; at < len(recs); at += size {
		rec := recs[at : at+size]
		one.Reset()
		one.Add(rec)
		if !fold.FitsWith(one) {
			fold = r.begin()
		}
		fold.Add(rec)
	}
}

// begin returns an empty Fold for the next result.
func (r *reduction) begin() *format.Fold {
	if r.isFirst {
		r.isFirst = false
		return r.head
	}
	r.append(r.tail)
	r.tail.Reset()
	return r.tail
}

// append appends the result of a Fold, if it has one, to the results between head and tail.
func (r *reduction) append(fold *format.Fold) {
	if fold.Records() == 0 {
		return
	}
	before := int64(len(r.between)/r.folds.opt.Aggregation.Size()) - 2
	var err error
	if r.between, err = fold.AppendResult(r.between); err != nil && r.err == nil {
		r.err = err
		r.errAt = before
	}
}

// join combines a reduced block with the open result. It returns all results that are now complete.
func (f *Folds) join(r *reduction) (out []byte, err error) {
	c := completed{folds: f, results: r.ends[:0]}
	defer func() { r.ends = c.results }()
	switch {
	case r.delayed != nil:
		if !f.continues(r.delayed) {
			c.add(f.open)
			f.open.Reset()
		}
		f.open.Add(r.delayed)
	case f.continues(r.head.Kept()) && (!f.opt.Partial || f.open.FitsWith(r.head)):
		f.open.Join(r.head)
	default:
		c.add(f.open)
		f.open, r.head = r.head, f.open
	}
	if r.tail.Records() > 0 { // the results between come after the open one
		c.add(f.open)
		f.open, r.tail = r.tail, f.open
	}
	c.note(r.err, r.errAt)

	out = r.between[2*f.opt.Aggregation.Size()-len(c.results):]
	copy(out, c.results)
	return out, c.err
}

// completed contains the results that come before the results between the head and tail of a block.
type completed struct {
	folds   *Folds
	results []byte
	err     error
}

// add appends the result of a Fold, if it has one.
func (c *completed) add(fold *format.Fold) {
	if fold.Records() == 0 {
		return
	}
	results, err := fold.AppendResult(c.results)
	c.note(err, 0)
	c.results = results
}

// note stores the first error, unless its result is beyond the limit. after is the number of
// results between c.results and the result with the error.
func (c *completed) note(err error, after int64) {
	index := c.folds.written + int64(len(c.results)/c.folds.opt.Aggregation.Size()) + after
	if err != nil && c.err == nil && c.folds.isNeeded(index) {
		c.err = err
	}
}

// continues reports whether a record has the key of the open result.
func (f *Folds) continues(rec []byte) bool {
	return f.open.Records() > 0 && f.opt.Aggregation.Keyer().Compare(f.open.Kept(), rec) == 0
}

// A grouping receives the bounds of groups of neighbors with equal keys, in bytes.
type grouping struct {
	group   func(from, to int) // several records with the same key
	singles func(from, to int) // records that are the only ones with their keys
}

// divide divides records into groups. keys is memory for key prefixes.
func (g *grouping) divide(k *format.Keyer, keys []uint64, recs []byte) {
	size := k.Layout().RecordSize
	isWide := k.KeySize() > 8
	from := 0         // of the group or the singles that are not complete
	inGroup := false  // the last record has the key of the one before it
	var before uint64 // prefix of the last record
	for base := 0; base < len(recs); base += len(keys) * size {
		block := recs[base:min(base+len(keys)*size, len(recs))]
		prefixes := keys[:len(block)/size]
		k.Prefixes(prefixes, block)

		for i, key := range prefixes {
			at := base + i*size
			isEqual := key == before && at > 0 &&
				(!isWide || k.Compare(recs[at-size:at], recs[at:at+size]) == 0)
			before = key
			if isEqual == inGroup {
				continue
			}
			inGroup = isEqual
			switch {
			case !isEqual:
				g.group(from, at)
				from = at
			case at-size > from:
				g.singles(from, at-size)
				from = at - size
			}
		}
	}
	if inGroup {
		g.group(from, len(recs))
	} else {
		g.singles(from, len(recs))
	}
}
