package cpu

import (
	"errors"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// chunk is a device.Chunk whose elements are E: bare keys, or leading bits of the key and the index of a record
// that stays where it was loaded.
type chunk[E radix.Element] struct {
	engine[E, E, *worker[E]]
	codec   codec[E]
	kept    *arena.Memory  // the records that the codec keeps, or nil
	mapping device.Mapping // where the records are that the codec keeps, if not in kept; else nil
}

// worker is the scratch of one goroutine.
type worker[E radix.Element] struct {
	memory  *arena.Memory // of what follows
	unit    []byte        // records on their way in
	elems   []E           // a batch of their elements
	a, b    []E           // the elements of a leaf, and room for as many
	out     []byte        // records on their way out
	scatter *radix.Scatterer[E]
	blocks  [][]E // of a leaf
	radix   radix.Sorter[E]
}

func (w *worker[E]) free() error { return w.memory.Free() }
func (w *worker[E]) passes() int { return w.radix.Passes }

func newChunk[E radix.Element](opt device.ChunkOptions, s sizes, codec codec[E]) (*chunk[E], error) {
	e, err := newEngine[E, E, *worker[E]](opt, s)
	if err != nil {
		return nil, err
	}
	c := &chunk[E]{engine: e, codec: codec}
	c.kind = c
	return c, nil
}

func newKeyChunk[E radix.Element](opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	return newChunk(opt, s, newKeys[E](opt.Keyer))
}

func newRecordChunk(opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	kept, err := arena.Alloc(int(s.records) * s.record)
	if err != nil {
		return nil, err
	}
	made, err := newChunk(opt, s, newRecords(opt.Keyer, kept.Bytes(), s.records))
	if err != nil {
		return nil, errors.Join(err, kept.Free())
	}
	made.kept = kept
	return made, nil
}

func (c *chunk[E]) newWorker() (*worker[E], error) {
	memory, err := arena.Alloc(c.perWorker())
	if err != nil {
		return nil, err
	}
	w := &worker[E]{memory: memory}
	w.radix.Distinct = c.keptRecords > 0
	rest := memory.Bytes()
	w.a, rest = radix.Carve[E](rest, c.leaf)
	w.b, rest = radix.Carve[E](rest, c.leaf)
	w.elems, rest = radix.Carve[E](rest, c.batch())
	w.scatter, rest = radix.NewScatterer(c.pool, rest, c.maxBuckets(), c.line)
	w.unit, w.out = rest[:c.unitBytes()], rest[c.unitBytes():]
	return w, nil
}

// Close gives the memory back.
func (c *chunk[E]) Close() error { return errors.Join(c.unmap(), c.engine.Close(), c.kept.Free()) }

func (c *chunk[E]) begin(src device.Source, workers int) error {
	err := c.mapRecords(src)
	c.lendUnits(c.workers[:workers])
	return err
}

func (c *chunk[E]) place(w *worker[E], first int64, n int) []byte {
	return c.codec.place(w.unit, first, n)
}
func (c *chunk[E]) fromPrefix(prefix uint64) E { return c.codec.fromPrefix(prefix) }
func (c *chunk[E]) tieBits() uint              { return c.codec.tieBits(0) }
func (c *chunk[E]) share(w *worker[E]) share   { return w.scatter }
func (c *chunk[E]) admit(int) bool             { return true }
func (c *chunk[E]) note(int, int64, int64)     {}

// eachBatch calls f with the elements of a unit, some at a time.
func (c *chunk[E]) eachBatch(w *worker[E], recs []byte, first int64, f func(elems []E)) {
	for len(recs) > 0 {
		n := min(len(w.elems), len(recs)/c.record)
		f(c.codec.extract(w.elems, recs[:n*c.record], first))
		recs, first = recs[n*c.record:], first+int64(n)
	}
}

func (c *chunk[E]) keysOf(w *worker[E], recs []byte, first int64) (elems []E) {
	c.eachBatch(w, recs, first, func(batch []E) { elems = append(elems, batch...) })
	return elems
}

func (c *chunk[E]) reset(workers int, b radix.Buckets[E], majority *radix.Equalities[E]) {
	for _, w := range c.workers[:workers] {
		w.scatter.Reset(b.Count(), 0, len(c.pool.Zones))
		w.scatter.CountEqual(majority)
		w.radix.Passes = 0
	}
}

func (c *chunk[E]) scatter(l *loading[E, E, *worker[E]], w *worker[E], recs []byte, first int64) {
	c.eachBatch(w, recs, first, func(elems []E) {
		kept := l.selection.within(elems)
		if len(kept) < len(elems) {
			l.leaveOut(int64(len(elems) - len(kept)))
		}
		w.scatter.Add(&l.buckets, kept)
	})
}

func (c *chunk[E]) collect(workers int, b radix.Buckets[E], whole leaf[E]) (leaves []leaf[E]) {
	for bucket := range b.Count() {
		l := leaf[E]{List: pool.Empty, from: whole.from, zone: c.workers[0].scatter.ZoneOf(bucket)}
		for _, w := range c.workers[:workers] {
			c.pool.Join(&l.List, w.scatter.Lists[bucket])
			majority, counted := w.scatter.CountOf(bucket)
			l.majority, l.counted = majority, l.counted+counted
		}
		if l.count = c.pool.Count(l.List) + l.counted; l.count > 0 {
			l.low, l.high = b.Span(bucket, whole.low, whole.high)
			leaves = append(leaves, l)
		}
	}
	return leaves
}
