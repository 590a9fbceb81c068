package cpu

import (
	"context"
	"errors"
	"iter"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
)

// engine is a device.Chunk: blocks of E in leaves that are cut by keys K, and the steps, which are written once for
// elements and for records that are moved whole. Keys of elements are the elements.
type engine[K radix.Element, E arena.Word] struct {
	sizes   sizes
	opt     device.ChunkOptions
	kind    kind[K, E]
	pool    *pool.Pool[E]
	kept    *arena.Memory   // of the records that elements refer to, or nil
	order   *order          // of the records that are moved whole, or nil
	workers []*worker[K, E] // those that were needed so far
	leaves  []leaf[K]       // in order
	stats   device.Stats
}

// kind is what elements are made of: keys, records or wholes.
type kind[K radix.Element, E arena.Word] interface {
	// extract makes elements of recs, the first of which has index first, and their keys, which may be the elements
	// themselves. REQUIRES: they are a batch at most.
	extract(w *worker[K, E], recs []byte, first int64) (keys []K, elems []E)

	// fromPrefix is the least key that a record with the given Keyer.Prefix can have.
	fromPrefix(prefix uint64) K

	// tieBits is the number of low bits of keys that count only when the rest of a record's key ties: those that hold it
	// from bit from on and differ in no other bit are ordered by the bits of the record's key after those, first.
	tieBits(from int) uint

	// keysOf gives the keys of elems, which hold the record's key from bit from on.
	keysOf(w *worker[K, E], elems []E, from int) []K

	// tied has a leaf whose keys tie hold later bits of the record's key, or finds that it is done.
	tied(ctx context.Context, l *leaf[K]) error

	// finish puts a leaf in order in the scratch of w, or in out if the bytes of keys are those of records: as keys, or
	// as references to elements. REQUIRES: out begins at a cache line or records after one.
	finish(w *worker[K, E], l *leaf[K], out []byte) []K

	// gather gives the records of what finish gave, and place their elements: in dst, or a view if that is the same.
	gather(w *worker[K, E], dst []byte, sorted []K) []byte
	place(w *worker[K, E], dst []E, sorted []K)

	// records gives the records of elems: in dst, or a view of elems if that is the same.
	records(dst []byte, elems []E) []byte
}

// worker is the scratch of one goroutine.
type worker[K radix.Element, E arena.Word] struct {
	memory    *arena.Memory // of what follows
	a, b      []K           // the keys of a leaf, or references to its elements, and room for as many
	keys      []K           // of a batch of elements
	recs      []E           // the elements of a leaf in the order of the input, where they are not keys
	elems     []E           // a batch of them
	scatter   *radix.Scatterer[K, E]
	unit      []byte   // records on their way in
	out       []byte   // records on their way out
	blocks    [][]E    // of a leaf
	window    *records // what a reference is
	radix     radix.Sorter[K]
	low, high K   // of the keys that it has surveyed
	sample    []K // some of them
	next      int // of its keys, from the next one on, to sample
}

// leaf is a bucket that is not cut further, or a part of one.
type leaf[K radix.Element] struct {
	pool.List
	count int64
	zone  int  // that its blocks come from
	done  bool // it is sorted: its elements are all the same, or in order as they stand

	low, high K     // all keys are from low to high
	from      int   // keys hold the record's key from this bit on
	majority  K     // the key that the scatter counted
	counted   int64 // how many of count are equal to it, and in no block

	ordered bool // its elements are not in the list, but in this bucket of the order
	bucket  int
}

func newEngine[K radix.Element, E arena.Word](opt device.ChunkOptions, s sizes) (*engine[K, E], error) {
	p, err := pool.New[E](s.blocks, s.block, zones(&s))
	return &engine[K, E]{sizes: s, opt: opt, pool: p}, err
}

// makeWorkers makes the scratch of workers where it is not there yet.
func (e *engine[K, E]) makeWorkers(workers int) error {
	for len(e.workers) < workers {
		w, err := e.newWorker()
		if err != nil {
			return err
		}
		e.workers = append(e.workers, w)
	}
	return nil
}

func (e *engine[K, E]) newWorker() (*worker[K, E], error) {
	memory, err := arena.Alloc(e.sizes.perWorker())
	if err != nil {
		return nil, err
	}
	w := &worker[K, E]{memory: memory}
	rest := memory.Bytes()
	w.a, rest = radix.Carve[K](rest, e.sizes.leaf)
	w.b, rest = radix.Carve[K](rest, e.sizes.leaf)
	w.keys, rest = radix.Carve[K](rest, e.sizes.batch())
	if e.sizes.whole {
		w.recs, rest = radix.Carve[E](rest, e.sizes.leaf)
		w.elems, rest = radix.Carve[E](rest, e.sizes.batch())
	}
	w.scatter, rest = radix.NewScatterer[K](e.pool, rest, e.sizes.maxBuckets(), e.sizes.line)
	w.unit, w.out = rest[:e.sizes.unitBytes()], rest[e.sizes.unitBytes():]
	return w, nil
}

// equalPiece is how many elements of a leaf without blocks are made at a time.
const equalPiece = 512

// pieces gives the elements of a leaf, but for some to skip, one stretch after the other: in the order of the input
// if that is known, or settled. What it has given may be recycled.
func (e *engine[K, E]) pieces(l *leaf[K], skip int64) iter.Seq[[]E] {
	return func(yield func([]E) bool) {
		rest := func(piece []E) bool {
			skipped := min(skip, int64(len(piece)))
			skip -= skipped
			return int64(len(piece)) == skipped || yield(piece[skipped:])
		}
		switch {
		case l.ordered:
			eachOrdered(e.order, e.pool, l.bucket, rest)
			return
		case l.done && !e.sizes.whole:
			equal := make([]K, min(equalPiece, l.count-skip))
			radix.Fill(equal, l.low)
			piece := arena.View[E](arena.ByteView(equal))
			for left := l.count - skip; left > 0 && yield(piece[:min(left, equalPiece)]); left -= equalPiece {
			}
			return
		}
		for b := l.Head; b != pool.None; {
			content := e.pool.Content(b)
			if b = e.pool.Next[b]; !rest(content) {
				return
			}
		}
	}
}

// Sort splits the leaves that are too large for the cache. The rest of the work is put off until Store, where it
// overlaps with the writing.
func (e *engine[K, E]) Sort(ctx context.Context) error {
	return splitter[K, E]{e}.splitAll(ctx, func(l *leaf[K]) bool { return l.count > int64(e.sizes.leaf) && !l.done })
}

func (e *engine[K, E]) Stats() device.Stats { return e.stats }

// countPasses enters the radix passes of the workers into the stats.
func (e *engine[K, E]) countPasses() {
	passes := 0
	for _, w := range e.workers {
		passes = max(passes, w.radix.Passes)
	}
	e.stats.Passes = passes + 1
}

// freeWorkers gives the scratch of all workers back.
func (e *engine[K, E]) freeWorkers() (err error) {
	for _, w := range e.workers {
		err = errors.Join(err, w.memory.Free())
	}
	e.workers = nil
	return err
}

func (e *engine[K, E]) Close() error {
	e.leaves = nil
	return errors.Join(e.kept.Free(), e.order.free(), e.pool.Memory.Free(), e.freeWorkers())
}
