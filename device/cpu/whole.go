package cpu

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// word is the word that a small record is moved in, at its start.
type word interface{ uint64 | [2]uint64 }

const (
	// maxWhole is the largest record that is moved whole, and the longest key of such a record, in bytes.
	maxWhole = 16

	// A worker reads up to wholeUnit bytes of such records at a time, so that there are about segmentsTarget of a unit
	// each: more of them make short pieces of large buckets, though in cache a unit of unitBytes is read best.
	wholeUnit      = 1 << 20
	segmentsTarget = 1 << 10

	// refBytes is the size of what is sorted in cache in place of such a record: of bits of its key, and of its place.
	refBytes = 8
)

// wordBytes is the size of the word that records are moved in, or 0 if they are not moved whole.
func wordBytes(k *format.Keyer) int {
	switch size := k.Layout().RecordSize; {
	case elementOf(k) != indexed || size > maxWhole || k.KeySize() > maxWhole:
		return 0
	case size <= 8:
		return 8
	}
	return 16
}

// wholes is the kind of a chunk of small records. They are moved whole, with their keys, as one of 16 bytes takes a
// line or two of the cache wherever it is fetched from:
//
//	Load   scatters them to buckets by the prefixes of their keys, and remembers in which order (order.go).
//	Sort   splits buckets that do not fit in cache (whole_split.go).
//	Store  copies a bucket into cache, in the order of the input; sorts references, of bits of the key and the place
//	       there; and writes the records as they say (whole_store.go).
//
// Against records that stay where they were loaded, beside elements with their indexes, memory holds nothing but
// records, and is read in sequence.
type wholes[R word] struct {
	engine *engine[uint64, R, *wholeWorker[R]]
	pool   *pool.Pool[R] // the engine's
	keyer  *format.Keyer // of words
	key    []uint64      // the bits of a word that are of its key
	table  *arena.Memory // of order
	order  order
	lists  [][]pool.List // of each worker, its buckets
}

// wholeWorker is the scratch of one goroutine.
type wholeWorker[R word] struct {
	memory *arena.Memory // of what follows
	lines  radix.Combiner[R]
	unit   []byte   // records on their way in
	keys   []uint64 // prefixes of a batch of them
	words  []R      // that batch, where a record is shorter than a word; or what of it is of a part
	recs   []R      // the records of a leaf, in the order of the input
	refs   []uint64 // references to them
	tmp    []uint64 // as many
	out    []byte   // records on their way out
	window *records // what a reference is
	radix  radix.Sorter[uint64]
}

func newWholes[R word](opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	layout := opt.Keyer.Layout()
	layout.RecordSize = s.element
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return nil, err
	}
	e, err := newEngine[uint64, R, *wholeWorker[R]](opt, s)
	if err != nil {
		return nil, err
	}
	table, err := arena.Alloc(s.orderBytes())
	if err != nil {
		return nil, errors.Join(err, e.pool.Memory.Free())
	}
	e.kind = &wholes[R]{engine: e, pool: e.pool, keyer: keyer, key: keyBits(layout), table: table}
	return e, nil
}

// keyBits is a record of whole words in which the bits of the key are set. Records have the same key if they are
// the same there, as each value of a field has one key.
func keyBits(l format.Layout) []uint64 {
	bits := make([]uint64, l.RecordSize/8)
	for _, f := range l.Key {
		for i := range f.Type.Size {
			arena.ByteView(bits)[f.Offset+i] = 0xff
		}
	}
	return bits
}

func (c *wholes[R]) newWorker() (*wholeWorker[R], error) {
	memory, err := arena.Alloc(c.engine.perWorker())
	if err != nil {
		return nil, err
	}
	w := &wholeWorker[R]{memory: memory}
	rest := memory.Bytes()
	w.recs, rest = radix.Carve[R](rest, c.engine.leaf)
	w.refs, rest = radix.Carve[uint64](rest, c.engine.leaf)
	w.tmp, rest = radix.Carve[uint64](rest, c.engine.leaf)
	w.keys, rest = radix.Carve[uint64](rest, c.engine.batch())
	w.words, rest = radix.Carve[R](rest, c.engine.batch())
	w.lines, rest = radix.NewCombiner(c.pool, rest, c.engine.maxBuckets(), c.engine.line)
	w.unit, w.out = rest[:c.engine.unitBytes()], rest[c.engine.unitBytes():]
	w.window = newRecords(c.keyer, arena.ByteView(w.recs), int64(c.engine.leaf))
	w.radix.Distinct = true
	return w, nil
}

func (w *wholeWorker[R]) free() error { return w.memory.Free() }
func (w *wholeWorker[R]) passes() int { return w.radix.Passes }

// guarded calls f: no memory is a file's.
func (c *wholes[R]) guarded(f func() error) error { return f() }

func (c *wholes[R]) free() error {
	c.lists = nil
	return c.table.Free()
}

func (c *wholes[R]) begin(device.Source, int) error { return nil }
func (c *wholes[R]) place(w *wholeWorker[R], _ int64, n int) []byte {
	return w.unit[:n*c.engine.record]
}
func (c *wholes[R]) fromPrefix(prefix uint64) uint64 { return prefix }
func (c *wholes[R]) tieBits() uint                   { return 0 }
func (c *wholes[R]) share(w *wholeWorker[R]) share   { return &w.lines }
func (c *wholes[R]) admit(worker int) bool           { return c.order.admit(worker) }

func (c *wholes[R]) note(worker int, first, n int64) {
	if n == 0 {
		c.order.end(worker)
		return
	}
	c.engine.workers[worker].lines.Counts(c.order.note(worker, first, n))
}

func (c *wholes[R]) keysOf(_ *wholeWorker[R], recs []byte, _ int64) []uint64 {
	prefixes := make([]uint64, len(recs)/c.engine.record)
	c.engine.opt.Keyer.Prefixes(prefixes, recs)
	return prefixes
}

func (c *wholes[R]) reset(workers int, b radix.Buckets[uint64], _ *radix.Equalities[uint64]) {
	c.order.reset(c.table.Uint32s(), b.Count(), workers, c.engine.segments())
	for _, w := range c.engine.workers[:workers] {
		w.lines.Reset(b.Count(), 0, len(c.pool.Zones))
		w.radix.Passes = 0
	}
}

func (c *wholes[R]) scatter(l *loading[uint64, R, *wholeWorker[R]], w *wholeWorker[R], recs []byte, _ int64) {
	size := c.engine.record
	for len(recs) > 0 {
		n := min(len(w.keys), len(recs)/size)
		batch, keys := recs[:n*size], w.keys[:n]
		recs = recs[n*size:]
		c.engine.opt.Keyer.Prefixes(keys, batch)
		words := w.words[:n]
		if size == c.engine.element {
			words = arena.View[R](batch)
		} else {
			pad(words, batch, size)
		}
		if s := l.selection; !s.takesAll() {
			kept := radix.WithinBoth(keys, words, s.low, s.span)
			l.leaveOut(int64(n - kept))
			keys, words = keys[:kept], words[:kept]
		}
		radix.Distribute(&w.lines, &l.buckets, keys, words, radix.PutFast[R])
	}
}

func (c *wholes[R]) collect(workers int, b radix.Buckets[uint64], _ leaf[uint64]) (leaves []leaf[uint64]) {
	c.order.sort()
	c.lists = c.lists[:0]
	for _, w := range c.engine.workers[:workers] {
		c.lists = append(c.lists, slices.Clone(w.lines.Lists[:b.Count()]))
	}
	for bucket := range b.Count() {
		l := leaf[uint64]{bucket: bucket, zone: c.engine.workers[0].lines.ZoneOf(bucket)}
		for _, lists := range c.lists {
			l.count += c.pool.Count(lists[bucket])
		}
		if l.count > 0 {
			leaves = append(leaves, l)
		}
	}
	return leaves
}

// pad makes words of records of size bytes. What a record leaves of its word is of no account.
func pad[R word](words []R, recs []byte, size int) {
	whole := wholeWords[R](len(recs), size)
	for i := range words[:whole] {
		words[i] = *(*R)(unsafe.Pointer(&recs[i*size]))
	}
	for i := whole; i < len(words); i++ {
		copy(arena.ByteView(words[i:i+1]), recs[i*size:(i+1)*size])
	}
}

// unpad is the inverse of pad. REQUIRES: dst has n·size bytes, n = len(words).
func unpad[R word](dst []byte, words []R, size int) {
	whole := wholeWords[R](len(dst), size)
	for i, word := range words[:whole] {
		*(*R)(unsafe.Pointer(&dst[i*size])) = word // the next one covers what is too much
	}
	for i := whole; i < len(words); i++ {
		copy(dst[i*size:(i+1)*size], arena.ByteView(words[i:i+1]))
	}
}

// wholeWords is how many records of size bytes begin so far before the end of so many that a word can be read there.
func wholeWords[R word](bytes, size int) int {
	var word R
	if most := bytes - int(unsafe.Sizeof(word)); most >= 0 {
		return most/size + 1
	}
	return 0
}
