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

// pipeline implements device.Chunk with blocks of E in leaves that are separated by keys K. It
// contains the steps, which are written once for elements and for records that are moved whole.
// If elements are keys, K and E are the same.
type pipeline[K radix.Element, E arena.Word] struct {
	sizes   sizes
	opt     device.ChunkOptions
	kind    kind[K, E]
	pool    *pool.Pool[E]
	loaded  *arena.Memory   // the records that elements refer to, or nil
	order   *order          // of records that are moved whole, or nil
	workers []*worker[K, E] // grows as needed
	leaves  []leaf[K]       // in ascending order
	stats   device.Stats
}

// kind defines what elements are. Its implementations are keys, records and wholes.
type kind[K radix.Element, E arena.Word] interface {
	// extract returns the elements of recs; first is the index of the first record. It also
	// returns their keys, which may be the elements themselves. REQUIRES: recs is at most a batch
	extract(w *worker[K, E], recs []byte, first int64) (keys []K, elems []E)

	// fromPrefix returns the least key of a record with the given Keyer.Prefix.
	fromPrefix(prefix uint64) K

	// tieBits returns the number of low bits of a key that count only if the other bits are
	// equal. from is the first bit of the record's key in these keys. Elements whose keys differ
	// only in the low bits must first be ordered by the following bits of the record's key.
	tieBits(from int) uint

	// keysOf returns the keys of elems. They contain the bits of the record's key from bit from
	// on.
	keysOf(w *worker[K, E], elems []E, from int) []K

	// refineTied handles a leaf whose keys are all equal: it replaces the keys by later bits of the
	// record's key, or marks the leaf as sorted.
	refineTied(ctx context.Context, l *leaf[K]) error

	// sortLeaf sorts a leaf. The result is in the scratch memory of w, or in out if keys have the
	// same bytes as records. It consists of keys, or of references to elements. REQUIRES: out
	// begins at a cache line or a whole number of records after one
	sortLeaf(w *worker[K, E], l *leaf[K], out []byte) []K

	// gatherRecords returns the records for a result of sortLeaf: in dst, or a view of sorted if
	// that is the same. storeElements stores the elements of such a result in dst.
	gatherRecords(w *worker[K, E], dst []byte, sorted []K) []byte
	storeElements(w *worker[K, E], dst []E, sorted []K)

	// recordsOf returns the records of elems: in dst, or a view of elems if that is the same.
	recordsOf(dst []byte, elems []E) []byte
}

// worker is the scratch memory of one goroutine.
type worker[K radix.Element, E arena.Word] struct {
	memory *arena.Memory // memory of the slices below
	// keys of a leaf, or references to its elements, and equal space for sorting
	leafKeys, leafTmp []K
	batchKeys         []K // keys of a batch of elements
	leafElems         []E // elements of a leaf in input order, if they are not keys
	batchElems        []E // a batch of elements
	scatter           *radix.Scatterer[K, E]
	unit              []byte   // incoming records
	out               []byte   // outgoing records
	blocks            [][]E    // blocks of a leaf
	references        *records // resolves references
	radix             radix.Sorter[K]
	low, high         K   // range of the keys surveyed so far
	sample            []K // a sample of these keys
	toNextSample      int // distance to the next key to sample
}

// A leaf is a bucket, or a part of one, that will not be divided further.
type leaf[K radix.Element] struct {
	pool.List
	count    int64
	zone     int  // zone of its blocks
	isSorted bool // sorted: all elements are the same, or are already in order

	low, high     K     // all keys are from low to high
	keyFrom       int   // first bit of the record's key that keys contain
	majority      K     // the key that the scatter counted
	majorityCount int64 // number of elements equal to majority, which are in no block

	ordered bool // the elements are not in the list, but in a bucket of the pipeline's order
	bucket  int
}

func newPipeline[K radix.Element, E arena.Word](
	opt device.ChunkOptions,
	s sizes,
) (*pipeline[K, E], error) {
	p, err := pool.New[E](s.blocks, s.blockElems, zoneCount(&s))
	return &pipeline[K, E]{
		sizes: s,
		opt:   opt,
		pool:  p,
	}, err
}

// makeWorkers adds workers until there are the given number.
func (p *pipeline[K, E]) makeWorkers(workers int) error {
	for len(p.workers) < workers {
		w, err := p.newWorker()
		if err != nil {
			return err
		}
		p.workers = append(p.workers, w)
	}
	return nil
}

func (p *pipeline[K, E]) newWorker() (*worker[K, E], error) {
	memory, err := arena.Alloc(p.sizes.workerBytes())
	if err != nil {
		return nil, err
	}
	w := &worker[K, E]{memory: memory}
	rest := memory.Bytes()
	w.leafKeys, rest = radix.Carve[K](rest, p.sizes.leafElems)
	w.leafTmp, rest = radix.Carve[K](rest, p.sizes.leafElems)
	w.batchKeys, rest = radix.Carve[K](rest, p.sizes.batchElems())

	if p.sizes.whole {
		w.leafElems, rest = radix.Carve[E](rest, p.sizes.leafElems)
		w.batchElems, rest = radix.Carve[E](rest, p.sizes.batchElems())
	}

	w.scatter, rest = radix.NewScatterer[K](
		p.pool,
		rest,
		p.sizes.maxBuckets(),
		p.sizes.lineBytes,
	)
	w.unit = rest[:p.sizes.unitBytes()]
	w.out = rest[p.sizes.unitBytes():]
	return w, nil
}

// equalPiece is the number of elements of a leaf without blocks that are made at a time.
const equalPiece = 512

// pieces returns the elements of a leaf in consecutive pieces, after skipping some. They are in
// input order, if that is known, or in sorted order after finishing. The caller may recycle the
// blocks of a piece that it has received.
func (p *pipeline[K, E]) pieces(
	l *leaf[K],
	skip int64,
) iter.Seq[[]E] {
	return func(yield func([]E) bool) {
		rest := func(piece []E) bool {
			skipped := min(skip, int64(len(piece)))
			skip -= skipped
			return int64(len(piece)) == skipped || yield(piece[skipped:])
		}
		switch {
		case l.ordered:
			eachOrdered(p.order, p.pool, l.bucket, rest)
			return
		case l.isSorted && !p.sizes.whole:
			yieldEqual(l.low, l.count-skip, yield)
			return
		}

		for b := l.Head; b != pool.None; {
			content := p.pool.Content(b)
			b = p.pool.Next[b] // before yielding, which may recycle the block
			if !rest(content) {
				return
			}
		}
	}
}

// yieldEqual yields count elements that equal key.
func yieldEqual[K radix.Element, E arena.Word](
	key K,
	count int64,
	yield func([]E) bool,
) {
	equal := make([]K, min(equalPiece, count))
	radix.Fill(equal, key)
	piece := arena.View[E](arena.ByteView(equal))

	for count > 0 {
		n := min(count, equalPiece)
		if !yield(piece[:n]) {
			return
		}
		count -= n
	}
}

// Sort splits the leaves that are too large for the cache. Store does the rest of the work,
// overlapped with writing.
func (p *pipeline[K, E]) Sort(ctx context.Context) error {
	return splitter[K, E]{p}.splitAll(ctx, func(l *leaf[K]) bool {
		return l.count > int64(p.sizes.leafElems) && !l.isSorted
	})
}

func (p *pipeline[K, E]) Stats() device.Stats {
	return p.stats
}

// countPasses adds the radix passes of the workers to the stats.
func (p *pipeline[K, E]) countPasses() {
	passes := 0
	for _, w := range p.workers {
		passes = max(passes, w.radix.Passes)
	}
	p.stats.Passes = passes + 1
}

// freeWorkers frees the scratch memory of all workers.
func (p *pipeline[K, E]) freeWorkers() (err error) {
	for _, w := range p.workers {
		err = errors.Join(err, w.memory.Free())
	}
	p.workers = nil
	return err
}

func (p *pipeline[K, E]) Close() error {
	p.leaves = nil
	return errors.Join(
		p.loaded.Free(),
		p.order.free(),
		p.pool.Memory.Free(),
		p.freeWorkers(),
	)
}
