package cpu

import (
	"context"
	"errors"
	"slices"
	"time"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// carried is the word that a small record is moved in, at its start.
type carried interface{ uint64 | [2]uint64 }

const (
	// carriedMost is the largest record that is moved whole, and the longest key of such a record, in bytes.
	carriedMost = 16

	// A worker reads up to carriedUnit bytes of such records at a time, so that there are about manyStints of a unit each: more
	// of them make short pieces of large buckets. In cache a unit of unitBytes is read best: parts of 200 MiB were sorted in
	// 0.97 s in place of 1.22 with it, but 1 GiB in one chunk took 1.29 s in place of 1.15.
	carriedUnit = 1 << 20
	manyStints  = 1 << 10

	// refBytes is the size of what is sorted in cache in place of such a record: of bits of its key, and of its place.
	refBytes = 8
)

// carriedBytes is the size of the word that records are moved in, or 0 if they are not moved whole.
func carriedBytes(k *format.Keyer) int {
	switch size := k.Layout().RecordSize; {
	case elementOf(k) != indexed || size > carriedMost || k.KeySize() > carriedMost:
		return 0
	case size <= 8:
		return 8
	}
	return 16
}

// carrier is a device.Chunk of small records. They are moved whole, with their keys, as one of 16 bytes takes a line or two of
// the cache wherever it is fetched from:
//
//	Load   scatters them to buckets by the prefixes of their keys, and remembers in which order (order.go).
//	Sort   splits buckets that do not fit in cache (carry_parts.go).
//	Store  copies a bucket into cache, in the order of the input; sorts references, of bits of the key and the place there; and
//	       writes the records as they say (carry_store.go).
//
// Against records that stay where they were loaded, beside elements with their indexes, memory holds nothing but records, and
// is read in sequence.
type carrier[R carried] struct {
	sizes
	opt   device.ChunkOptions
	keyer *format.Keyer // of words
	key   []uint64      // the bits of a word that are of its key
	pool  *pool.Pool[R]
	table *arena.Memory // of order
	order order
	lists [][]pool.List // of each worker, its buckets

	workers []*carryWorker[R]
	leaves  []part // in order
	stats   device.Stats
}

// carryWorker is the scratch of one goroutine.
type carryWorker[R carried] struct {
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

func newCarrier[R carried](opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	layout := opt.Keyer.Layout()
	layout.RecordSize = s.element
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return nil, err
	}
	p, err := pool.New[R](s.blocks, s.block, s.zones())
	if err != nil {
		return nil, err
	}
	table, err := arena.Alloc(s.orderBytes())
	if err != nil {
		return nil, errors.Join(err, p.Memory.Free())
	}
	return &carrier[R]{sizes: s, opt: opt, keyer: keyer, key: keyBits(layout), pool: p, table: table, workers: make([]*carryWorker[R], s.workers)}, nil
}

// keyBits is a record of whole words in which the bits of the key are set. Records have the same key if they are the same there, as each
// value of a field has one key.
func keyBits(l format.Layout) []uint64 {
	bits := make([]uint64, l.RecordSize/8)
	for _, f := range l.Key {
		for i := range f.Type.Size {
			arena.ByteView(bits)[f.Offset+i] = 0xff
		}
	}
	return bits
}

// makeWorkers makes the scratch of workers where it is not there yet.
func (c *carrier[R]) makeWorkers(workers int) error {
	for i := range workers {
		if c.workers[i] != nil {
			continue
		}
		memory, err := arena.Alloc(c.perWorker())
		if err != nil {
			return err
		}
		w := &carryWorker[R]{memory: memory}
		rest := memory.Bytes()
		w.recs, rest = radix.Carve[R](rest, c.leaf)
		w.refs, rest = radix.Carve[uint64](rest, c.leaf)
		w.tmp, rest = radix.Carve[uint64](rest, c.leaf)
		w.keys, rest = radix.Carve[uint64](rest, c.batch())
		w.words, rest = radix.Carve[R](rest, c.batch())
		w.lines, rest = radix.NewCombiner(c.pool, rest, c.maxBuckets(), c.line)
		w.unit, w.out = rest[:c.unitBytes()], rest[c.unitBytes():]
		w.window = newRecords(c.keyer, arena.ByteView(w.recs), int64(c.leaf))
		w.radix.Distinct = true
		c.workers[i] = w
	}
	return nil
}

// each runs f for so many workers, see each.
func (c *carrier[R]) each(ctx context.Context, workers int, f func(ctx context.Context, i int, w *carryWorker[R]) error) error {
	return each(ctx, c.workers[:workers], f)
}

// Load reads and scatters in one go, unit by unit.
func (c *carrier[R]) Load(ctx context.Context, src device.Source) (int64, error) {
	return c.load(ctx, src, nil)
}

// load is Load of what is selected by prefixes; nil: everything.
func (c *carrier[R]) load(ctx context.Context, src device.Source, s *selection[uint64]) (int64, error) {
	defer seconds(&c.stats.Load, time.Now())
	c.stats = device.Stats{Algorithm: Algorithm}
	c.leaves = c.leaves[:0]
	c.pool.Reset()
	in := newIntake(src, &c.sizes)
	s.begin(&in, func(prefix uint64) uint64 { return prefix })
	workers := workersFor(c.sizes.workers, in.expected, c.unit)
	if err := c.makeWorkers(workers); err != nil {
		return 0, err
	}
	recs, first, err := c.read(ctx, &in, c.workers[0])
	if err != nil {
		return 0, err
	}
	b := c.choose(&in, s, recs)
	c.order.reset(c.table.Uint32s(), b.Count(), workers, c.stints())
	for _, w := range c.workers[:workers] {
		w.lines.Reset(b.Count(), 0, len(c.pool.Zones))
		w.radix.Passes = 0
	}
	l := carrying[R]{carrier: c, intake: in, selection: s, buckets: b}
	for more := true; more; recs = nil {
		err = c.each(ctx, workers, func(ctx context.Context, i int, w *carryWorker[R]) error {
			if i == 0 {
				return l.work(ctx, i, recs, first)
			}
			return l.work(ctx, i, nil, 0)
		})
		if err == nil { // workers that were not admitted again may have left some
			err = l.work(ctx, 0, nil, 0)
		}
		if err == nil {
			more, err = s.makeRoom(&l.buckets, c.droppers(workers))
		}
		if err != nil {
			return 0, err
		}
	}
	for _, w := range c.workers[:workers] {
		w.lines.Finish()
	}
	c.order.sort()
	c.collect(workers, b)
	c.stats.Records = in.loaded.Load()
	return c.stats.Records, nil
}

// carrying is one Load.
type carrying[R carried] struct {
	*carrier[R]
	intake
	selection *selection[uint64] // nil: everything
	buckets   radix.Buckets[uint64]
}

func (c *carrier[R]) droppers(workers int) (all []dropper) {
	for _, w := range c.workers[:workers] {
		all = append(all, &w.lines)
	}
	return all
}

// work scatters recs, if any, and what it reads as long as it is admitted and there is more.
func (l *carrying[R]) work(ctx context.Context, worker int, recs []byte, first int64) (err error) {
	w := l.workers[worker]
	defer radix.StoreFence() // others may get its blocks
	for {
		if len(recs) > 0 {
			l.scatter(w, recs)
			w.lines.Counts(l.order.note(worker, first, int64(len(recs)/l.carrier.record)))
		}
		if !l.order.admit(worker) {
			return nil
		}
		if recs, first, err = l.read(ctx, &l.intake, w); err != nil {
			return err
		}
		if len(recs) == 0 {
			l.order.withdraw(worker)
			return nil
		}
	}
}

// read reads the next unit.
func (c *carrier[R]) read(ctx context.Context, in *intake, w *carryWorker[R]) (recs []byte, first int64, err error) {
	return in.next(ctx, func(_ int64, n int) []byte { return w.unit[:n*c.record] })
}

// choose cuts the range of the sample into buckets, or that of the first unit where there is no sample.
func (c *carrier[R]) choose(in *intake, s *selection[uint64], recs []byte) radix.Buckets[uint64] {
	count := c.buckets(in.expected)
	if count == 1 || len(recs) == 0 {
		return radix.Buckets[uint64]{}
	}
	sample := in.sample(&c.opt, count)
	if len(sample) == 0 {
		sample = make([]uint64, len(recs)/c.record)
		c.opt.Keyer.Prefixes(sample, recs)
	}
	sample, low, high := s.cutFrom(sample)
	return radix.FittedBuckets(sample, low, high, count, 0)
}

// scatter distributes the records of a unit.
func (l *carrying[R]) scatter(w *carryWorker[R], recs []byte) {
	size := l.carrier.record
	for len(recs) > 0 {
		n := min(len(w.keys), len(recs)/size)
		batch, keys := recs[:n*size], w.keys[:n]
		recs = recs[n*size:]
		l.opt.Keyer.Prefixes(keys, batch)
		words := w.words[:n]
		if size == l.element {
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

// collect makes leaves of the buckets.
func (c *carrier[R]) collect(workers int, b radix.Buckets[uint64]) {
	c.lists = c.lists[:0]
	for _, w := range c.workers[:workers] {
		c.lists = append(c.lists, slices.Clone(w.lines.Lists[:b.Count()]))
	}
	for bucket := range b.Count() {
		l := part{bucket: bucket, zone: c.workers[0].lines.ZoneOf(bucket)}
		for _, lists := range c.lists {
			l.count += c.pool.Count(lists[bucket])
		}
		if l.count > 0 {
			c.leaves = append(c.leaves, l)
		}
	}
}

// pad makes words of records of size bytes. What a record leaves of its word is of no account.
func pad[R carried](words []R, recs []byte, size int) {
	whole := wholeWords[R](len(recs), size)
	for i := range words[:whole] {
		words[i] = *(*R)(unsafe.Pointer(&recs[i*size]))
	}
	for i := whole; i < len(words); i++ {
		copy(arena.ByteView(words[i:i+1]), recs[i*size:(i+1)*size])
	}
}

// unpad is the inverse of pad. REQUIRES: dst has n·size bytes, n = len(words).
func unpad[R carried](dst []byte, words []R, size int) {
	whole := wholeWords[R](len(dst), size)
	for i, word := range words[:whole] {
		*(*R)(unsafe.Pointer(&dst[i*size])) = word // the next one covers what is too much
	}
	for i := whole; i < len(words); i++ {
		copy(dst[i*size:(i+1)*size], arena.ByteView(words[i:i+1]))
	}
}

// wholeWords is how many records of size bytes begin so far before the end of so many that a word can be read there.
func wholeWords[R carried](bytes, size int) int {
	var word R
	if most := bytes - int(unsafe.Sizeof(word)); most >= 0 {
		return most/size + 1
	}
	return 0
}

// Stats tells of the work since the last Load.
func (c *carrier[R]) Stats() device.Stats { return c.stats }

// Close gives the memory back.
func (c *carrier[R]) Close() error {
	err := errors.Join(c.pool.Memory.Free(), c.table.Free())
	for _, w := range c.workers {
		if w != nil {
			err = errors.Join(err, w.memory.Free())
		}
	}
	c.leaves, c.lists, c.workers = nil, nil, nil
	return err
}
