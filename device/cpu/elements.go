package cpu

import (
	"errors"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// elements is the kind of a chunk whose elements are bare keys, or leading bits of the key and the index of a record
// that stays where it was loaded.
type elements[E radix.Element] struct {
	engine *engine[E, E, *worker[E]]
	pool   *pool.Pool[E] // the engine's
	codec  codec[E]
	kept   *kept // the records that the codec refers to, or nil
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

func newElements[E radix.Element](opt device.ChunkOptions, s sizes, codec codec[E], kept *kept) (device.Chunk, error) {
	e, err := newEngine[E, E, *worker[E]](opt, s)
	if err != nil {
		return nil, errors.Join(err, kept.free())
	}
	e.kind = &elements[E]{engine: e, pool: e.pool, codec: codec, kept: kept}
	return e, nil
}

func newKeyChunk[E radix.Element](opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	return newElements(opt, s, newKeys[E](opt.Keyer), nil)
}

func newRecordChunk(opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	memory, err := arena.Alloc(int(s.records) * s.record)
	if err != nil {
		return nil, err
	}
	codec := newRecords(opt.Keyer, memory.Bytes(), s.records)
	return newElements(opt, s, codec, &kept{records: codec, memory: memory})
}

func (c *elements[E]) newWorker() (*worker[E], error) {
	memory, err := arena.Alloc(c.engine.perWorker())
	if err != nil {
		return nil, err
	}
	w := &worker[E]{memory: memory}
	w.radix.Distinct = c.engine.keptRecords > 0
	rest := memory.Bytes()
	w.a, rest = radix.Carve[E](rest, c.engine.leaf)
	w.b, rest = radix.Carve[E](rest, c.engine.leaf)
	w.elems, rest = radix.Carve[E](rest, c.engine.batch())
	w.scatter, rest = radix.NewScatterer(c.pool, rest, c.engine.maxBuckets(), c.engine.line)
	w.unit, w.out = rest[:c.engine.unitBytes()], rest[c.engine.unitBytes():]
	return w, nil
}

func (c *elements[E]) free() error { return c.kept.free() }

func (c *elements[E]) begin(src device.Source, workers int) error {
	e := c.engine
	if err := c.kept.begin(src, &e.sizes); err != nil || !c.kept.leftThere() {
		return err
	}
	unit := e.unit * e.record
	for i, w := range e.workers[:workers] {
		w.unit = c.kept.memory.Bytes()[i*unit:][:unit] // that of the copies, which there are none of
	}
	return nil
}

func (c *elements[E]) guarded(f func() error) error { return c.kept.guarded(f) }

func (c *elements[E]) place(w *worker[E], first int64, n int) []byte {
	return c.codec.place(w.unit, first, n)
}
func (c *elements[E]) fromPrefix(prefix uint64) E { return c.codec.fromPrefix(prefix) }
func (c *elements[E]) tieBits() uint              { return c.codec.tieBits(0) }
func (c *elements[E]) share(w *worker[E]) share   { return w.scatter }
func (c *elements[E]) admit(int) bool             { return true }
func (c *elements[E]) note(int, int64, int64)     {}

// eachBatch calls f with the elements of a unit, some at a time.
func (c *elements[E]) eachBatch(w *worker[E], recs []byte, first int64, f func(elems []E)) {
	for len(recs) > 0 {
		n := min(len(w.elems), len(recs)/c.engine.record)
		f(c.codec.extract(w.elems, recs[:n*c.engine.record], first))
		recs, first = recs[n*c.engine.record:], first+int64(n)
	}
}

func (c *elements[E]) keysOf(w *worker[E], recs []byte, first int64) (elems []E) {
	c.eachBatch(w, recs, first, func(batch []E) { elems = append(elems, batch...) })
	return elems
}

func (c *elements[E]) reset(workers int, b radix.Buckets[E], majority *radix.Equalities[E]) {
	for _, w := range c.engine.workers[:workers] {
		w.scatter.Reset(b.Count(), 0, len(c.pool.Zones))
		w.scatter.CountEqual(majority)
		w.radix.Passes = 0
	}
}

func (c *elements[E]) scatter(l *loading[E, E, *worker[E]], w *worker[E], recs []byte, first int64) {
	c.eachBatch(w, recs, first, func(elems []E) {
		kept := l.selection.within(elems)
		if len(kept) < len(elems) {
			l.leaveOut(int64(len(elems) - len(kept)))
		}
		w.scatter.Add(&l.buckets, kept)
	})
}

func (c *elements[E]) collect(workers int, b radix.Buckets[E], whole leaf[E]) (leaves []leaf[E]) {
	for bucket := range b.Count() {
		l := leaf[E]{List: pool.Empty, from: whole.from, zone: c.engine.workers[0].scatter.ZoneOf(bucket)}
		for _, w := range c.engine.workers[:workers] {
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
