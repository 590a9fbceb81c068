package sets

import (
	"context"
	"io"
	"slices"
	"sort"
	"sync"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge"
)

// ranges cuts inputs with random access into spans, as a cutter cuts those that are read
// sequentially. It reads only single records. So workers do everything else with a span: they read
// its records, check their order, and run the operation while the records are in the cache.
//
//	       ┌─▶ worker: reads, checks, runs the operation ─┐
//	ranges ┤                                              ├in turn─▶ device.BlockWriter
//	       └─▶ worker: reads, checks, runs the operation ─┘
type ranges struct {
	inputs       []Input
	blockRecords int64 // a span has at most so many records of each input, unless it is a large group

	lock   sync.Mutex // protects the fields below
	at     []int64    // per input, the index of the first record after the last span
	number int64      // number of the next span
	ends   []stretch  // per input, the last record of the block that begins at its index
	probe  []stretch  // per input, memory for one record

	spare [][]*block // per input, blocks for the feed of a large group; only for the worker whose turn it is
}

// A stride is a span of inputs with random access.
type stride struct {
	number   int64
	from, to []int64 // per input, the indexes of its first record and after its last one
	isLarge  bool    // all records have the same key, and an input has more of them than a block
}

func newRanges(opt *Options) *ranges {
	r := &ranges{
		inputs:       opt.Inputs,
		blockRecords: int64(opt.BlockRecords),
		at:           make([]int64, len(opt.Inputs)),
		spare:        make([][]*block, len(opt.Inputs)),
	}
	for _, in := range opt.Inputs {
		r.ends = append(r.ends, newRecord(in.Keyer))
		r.probe = append(r.probe, newRecord(in.Keyer))
	}
	return r
}

// newRecord returns a stretch with memory for one record.
func newRecord(k *format.Keyer) stretch {
	size := k.Layout().RecordSize
	return stretch{keyer: k, size: size, keys: make([]uint64, 1), recs: make([]byte, size)}
}

// read reads record at of an input.
func (r *ranges) read(input int, to *stretch, at int64) error {
	if err := r.inputs[input].At.ReadRecords(to.recs, at); err != nil {
		return err
	}
	to.keyer.Prefixes(to.keys, to.recs)
	return nil
}

// next returns the next span, or nil after the last one.
func (r *ranges) next() (*stride, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	end, err := r.lowestEnd()
	if end == nil || err != nil {
		return nil, err
	}
	to, err := r.cut(end, false)
	if err != nil {
		return nil, err
	}
	s := &stride{number: r.number, from: r.at, to: to}
	if s.largest() > r.blockRecords {
		below, err := r.cut(end, true)
		if err != nil {
			return nil, err
		}
		s.isLarge = slices.Equal(below, s.from)
		if !s.isLarge {
			s.to = below
		}
	}
	r.at = s.to
	r.number++
	return s, nil
}

// largest returns the largest number of records of one input.
func (s *stride) largest() (n int64) {
	for i := range s.from {
		n = max(n, s.to[i]-s.from[i])
	}
	return n
}

// blockEnd returns the index after the last record of the block that begins with the next record.
func (r *ranges) blockEnd(input int) int64 {
	return min(r.at[input]+r.blockRecords, r.inputs[input].At.Records)
}

// lowestEnd returns the lowest record with which the next block of an input ends. It returns nil at
// the end of all inputs.
func (r *ranges) lowestEnd() (lowest *stretch, err error) {
	for i := range r.inputs {
		last := r.blockEnd(i) - 1
		if last < r.at[i] {
			continue
		}
		end := &r.ends[i]
		if err := r.read(i, end, last); err != nil {
			return nil, err
		}
		if lowest == nil || end.compare(0, lowest, 0) < 0 {
			lowest = end
		}
	}
	return lowest, nil
}

// cut returns, for each input, the index after its last record whose key is at most that of end.
// With less, it counts only smaller keys, and only those in the next block.
func (r *ranges) cut(end *stretch, less bool) (to []int64, err error) {
	to = slices.Clone(r.at)
	for i := range r.inputs {
		blockEnd := r.blockEnd(i)
		if blockEnd == r.at[i] {
			continue
		}
		isWhole := !less && r.ends[i].compare(0, end, 0) <= 0
		if !isWhole {
			to[i], err = r.search(i, r.at[i], blockEnd-1, end, less)
		} else {
			to[i], err = r.searchFrom(i, blockEnd, end)
		}
		if err != nil {
			return nil, err
		}
	}
	return to, nil
}

// searchFrom returns the index of the first record from index from on whose key is more than that of
// end. It looks at few records if there are few before it.
func (r *ranges) searchFrom(input int, from int64, end *stretch) (int64, error) {
	records := r.inputs[input].At.Records
	for step := int64(1); ; step *= 2 {
		next := min(from+step, records)
		at, err := r.search(input, from, next, end, false)
		if at < next || next == records || err != nil {
			return at, err
		}
		from = next
	}
}

// search returns the index of the first record of an input, from index from to to (exclusive), whose
// key is more than that of end; or to, if there is none. With less, it may also be equal.
func (r *ranges) search(input int, from, to int64, end *stretch, less bool) (int64, error) {
	bound := 1
	if less {
		bound = 0
	}
	var failed error
	n := sort.Search(int(to-from), func(i int) bool {
		if failed == nil {
			failed = r.read(input, &r.probe[input], from+int64(i))
		}
		return r.probe[input].compare(0, end, 0) >= bound
	})
	return from + int64(n), failed
}

// A ranger is a worker that reads the records of its spans itself.
type ranger struct {
	*worker
	ranges *ranges
	blocks []*block // per input, with room for a block and the record before it
}

func newRanger(w *worker, r *ranges) *ranger {
	all := &ranger{worker: w, ranges: r}
	for _, in := range r.inputs {
		all.blocks = append(all.blocks, newBlock(in.Keyer, int(r.blockRecords)+1))
	}
	return all
}

// run handles spans until there are none left.
func (w *ranger) run(ctx context.Context) error {
	parts := make([]part, len(w.blocks))
	for ctx.Err() == nil {
		s, err := w.ranges.next()
		if s == nil || err != nil {
			return err
		}
		w.number = s.number
		w.isMyTurn = false
		if s.isLarge {
			err = w.handleLarge(ctx, s)
		} else {
			err = w.handleStride(ctx, s, parts)
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// handleStride runs the operation on a span.
func (w *ranger) handleStride(ctx context.Context, s *stride, parts []part) error {
	for i := range parts {
		var err error
		parts[i], err = w.load(i, s.from[i], s.to[i])
		if err != nil {
			return err
		}
	}
	if err := w.handle(ctx, parts); err != nil {
		return err
	}
	return w.finish(ctx)
}

// load reads records of an input. It checks their order, and also whether the first of them follows
// the record before it. All spans together cover all records. So if an input is not sorted, and a
// search led to a wrong place, a worker finds that out.
func (w *ranger) load(input int, from, to int64) (part, error) {
	in := &w.ranges.inputs[input]
	b := w.blocks[input]
	if from == to {
		return part{stretch: stretch{keyer: in.Keyer, size: b.size}}, nil
	}
	before := int(min(from, 1))
	n := before + int(to-from)
	recs := b.recs[:n*b.size]
	if err := in.At.ReadRecords(recs, from-int64(before)); err != nil {
		return part{}, err
	}
	in.Read(recs[before*b.size:])
	b.setRecords(n)
	if i := b.check(); i > 0 {
		return part{}, in.disorder(input, from-int64(before)+int64(i), b.record(i-1), b.record(i))
	}
	return part{b.slice(before, n), b}, nil
}

// handleLarge handles a span of one key. A feed for each input reads its records.
func (w *ranger) handleLarge(ctx context.Context, s *stride) error {
	if err := w.takeTurn(ctx); err != nil {
		return err
	}
	err := w.runLarge(ctx, s)
	w.op.turns.Pass(s.number+1, err)
	return err
}

// runLarge runs the operation on a span of one key.
func (w *ranger) runLarge(ctx context.Context, s *stride) error {
	tasks, ctx := safely.WithContext(ctx)
	var groups []*group
	for i := range s.from {
		if s.from[i] == s.to[i] {
			continue
		}
		f, err := w.ranges.feed(i, s.from[i], s.to[i])
		if err != nil {
			return err
		}
		f.start(ctx, tasks)
		groups = append(groups, &group{input: i, head: &head{feed: f}})
	}
	tasks.Go(func() error {
		for _, g := range groups {
			if err := g.begin(ctx); err != nil {
				return err
			}
		}
		if err := w.op.large(ctx, groups); err != nil {
			return err
		}
		for _, g := range groups { // if an input is not sorted, the operation may leave records behind
			if err := g.head.skipAll(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return tasks.Wait()
}

// feed returns a feed that reads records of an input. Only the worker whose turn it is may call it.
func (r *ranges) feed(input int, from, to int64) (*feed, error) {
	in := r.inputs[input]
	if r.spare[input] == nil {
		r.spare[input] = newBlocks(in.Keyer, int(r.blockRecords))
	}
	size := int64(in.Keyer.Layout().RecordSize)
	in.Records = io.NewSectionReader(recordBytes{in.At, size}, from*size, (to-from)*size)
	f := newFeed(input, in, r.spare[input])
	f.records = from
	if from == 0 {
		return f, nil
	}
	before := newRecord(in.Keyer)
	err := r.read(input, &before, from-1)
	f.last = before
	return f, err
}

// recordBytes reads the bytes of records. Offsets and lengths must be multiples of the size of a
// record.
type recordBytes struct {
	from *merge.Sorted
	size int64
}

// ReadAt implements io.ReaderAt.
func (r recordBytes) ReadAt(p []byte, offset int64) (int, error) {
	if err := r.from.ReadRecords(p, offset/r.size); err != nil {
		return 0, err
	}
	return len(p), nil
}
