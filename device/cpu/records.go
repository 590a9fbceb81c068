package cpu

import (
	"context"
	"errors"
	"math/bits"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// records is the kind of records that stay where they were loaded, next to their elements:
//
//	63                          indexBits         0
//	+---------------------------+-----------------+
//	| leading bits of the key   | index of record |
//	+---------------------------+-----------------+
//
// If the key has fewer bits than there is space for, the high bits are 0.
type records struct {
	keyer       *format.Keyer
	recordBytes int    // record size in bytes
	loaded      []byte // all records in input order
	indexBits   uint
	heldKeyBits int // number of key bits in an element

	pipeline *pipeline[uint64, uint64]
	// batches contains *batch. Allocating one per block would produce much garbage.
	batches sync.Pool
}

func newRecords(k *format.Keyer, loaded []byte, capacity int64) *records {
	indexBits := uint(bits.Len64(uint64(max(capacity-1, 0))))
	return &records{
		keyer:       k,
		recordBytes: k.Layout().RecordSize,
		loaded:      loaded,
		indexBits:   indexBits,
		heldKeyBits: min(64-int(indexBits), 8*k.KeySize()),
	}
}

func newRecordChunk(opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	e, err := newPipeline[uint64, uint64](opt, s)
	if err != nil {
		return nil, err
	}
	memory, err := arena.Alloc(int(s.records) * s.recordBytes)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	r := newRecords(opt.Keyer, memory.Bytes(), s.records)
	r.pipeline = e
	e.kind = r
	e.loaded = memory
	return e, nil
}

func (r *records) keysOf(
	_ *worker[uint64, uint64],
	elems []uint64,
	_ int,
) []uint64 {
	return elems
}

func (r *records) extract(
	w *worker[uint64, uint64],
	recs []byte,
	first int64,
) (keys, elems []uint64) {
	keys = w.batchKeys[:len(recs)/r.recordBytes]
	r.keyer.Prefixes(keys, recs)
	drop := uint(r.keyer.PrefixBits() - r.heldKeyBits)
	for i, p := range keys {
		keys[i] = p>>drop<<r.indexBits | uint64(first+int64(i))
	}
	return keys, keys
}

// refineTied replaces the elements of a leaf: they now contain the next bits of the key that may
// differ.
func (r *records) refineTied(ctx context.Context, l *leaf[uint64]) error {
	from, searches := r.followingBits(l.keyFrom)
	workers := workersFor(r.pipeline.sizes.workers, l.count, batchRecords)
	if err := r.pipeline.makeWorkers(workers); err != nil {
		return err
	}
	if searches {
		var mu sync.Mutex
		from = 8 * r.keyer.KeySize()
		pivot := r.pipeline.pool.Content(l.Head)[0]
		err := r.pipeline.eachPiece(ctx, workers, *l, func(_ int, _ *worker[uint64, uint64], piece []uint64) {
			agreed := r.agreedBits(piece, pivot, l.keyFrom)
			mu.Lock()
			defer mu.Unlock()
			from = min(from, agreed)
		})
		if err != nil {
			return err
		}
	}

	l.keyFrom = from
	l.low = 0
	l.high = ^uint64(0)
	return r.pipeline.eachPiece(ctx, workers, *l, func(_ int, _ *worker[uint64, uint64], piece []uint64) {
		r.refillKeyBits(piece, from)
	})
}

func (r *records) sortLeaf(
	w *worker[uint64, uint64],
	l *leaf[uint64],
	_ []byte,
) []uint64 {
	elems := w.leafKeys[:l.count]
	sortBlocks(w, r.pipeline.pool, l, elems)
	r.refine(&w.radix, elems, w.leafTmp[:l.count], l.keyFrom)
	return elems
}

func (r *records) gatherRecords(
	_ *worker[uint64, uint64],
	dst []byte,
	sorted []uint64,
) []byte {
	return r.recordsOf(dst, sorted)
}

func (r *records) storeElements(_ *worker[uint64, uint64], dst, sorted []uint64) {
	copy(dst, sorted)
}

func (r *records) fromPrefix(prefix uint64) uint64 {
	return prefix >> (r.keyer.PrefixBits() - r.heldKeyBits) << r.indexBits
}

// gatherBatch is the number of records that are prefetched before the first of them is copied. It
// matches the number of cache misses that a processor can have in flight, and is small enough for
// L1.
const gatherBatch = 16

// recordsOf gathers the records of elems. They are scattered in memory, so each one costs one or
// two cache misses. Therefore a batch is prefetched while the previous batch is copied.
func (r *records) recordsOf(dst []byte, elems []uint64) []byte {
	dst = dst[:len(elems)*r.recordBytes]
	r.prefetch(elems[:min(gatherBatch, len(elems))])
	for at := 0; at < len(elems); {
		end := min(at+gatherBatch, len(elems))
		r.prefetch(elems[end:min(end+gatherBatch, len(elems))])
		for ; at < end; at++ {
			copy(dst[at*r.recordBytes:(at+1)*r.recordBytes], r.recordAt(elems[at]))
		}
	}

	return dst
}

func (r *records) prefetch(elems []uint64) {
	if len(elems) > 0 && r.recordBytes <= 512 {
		radix.PrefetchRecords(&r.loaded[0], elems, 1<<r.indexBits-1, r.recordBytes)
	}
}

func (r *records) recordAt(e uint64) []byte {
	at := int64(r.indexOf(e)) * int64(r.recordBytes)
	return r.loaded[at : at+int64(r.recordBytes)]
}

// indexOf returns the index of the record of an element.
func (r *records) indexOf(e uint64) uint64 {
	return e & r.indexMask()
}

func (r *records) indexMask() uint64 {
	return 1<<r.indexBits - 1
}

func (r *records) tieBits(from int) uint {
	if from+r.heldKeyBits >= 8*r.keyer.KeySize() {
		return 0 // the element contains the rest of the key, so the index decides
	}
	return r.indexBits
}

// followingBits returns the first key bit after the bits that elements contain, which begin at bit
// from. searches reports whether enough of the key is left to make it worth searching for the first
// bit that differs: the keys may have a long common prefix. The search examines whole keys, which
// takes several times as long as refilling the elements.
func (r *records) followingBits(from int) (next int, searches bool) {
	next = from + r.heldKeyBits
	return next, next+2*r.heldKeyBits < 8*r.keyer.KeySize()
}

// agreedBits returns the number of leading key bits in which the records of elems agree with that
// of pivot, rounded down to whole bytes. They are known to agree in the bits that elements contain,
// which begin at bit from.
func (r *records) agreedBits(elems []uint64, pivot uint64, from int) int {
	from += r.heldKeyBits
	agreed := 8 * r.keyer.KeySize()
	r.inBatches(elems, func(b *batch) {
		for at := from; at < agreed; at += 64 {
			width := min(64, agreed-at)
			first := r.keyer.BitRange(r.recordAt(pivot), at, width)
			differ := uint64(0)
			for _, w := range b.bitRanges(at, width) {
				differ |= w ^ first
			}
			if differ != 0 {
				agreed = at + width - bits.Len64(differ)
			}
		}
	})
	return agreed &^ 7
}

// refillKeyBits replaces the key bits in elems by those that begin at bit from.
func (r *records) refillKeyBits(elems []uint64, from int) {
	if from >= 8*r.keyer.KeySize() {
		for i, e := range elems {
			elems[i] = r.indexOf(e)
		}
		return
	}

	r.inBatches(elems, func(b *batch) {
		for i, w := range b.bitRanges(from, r.heldKeyBits) {
			b.elems[i] = w<<r.indexBits | r.indexOf(b.elems[i])
		}
	})
}

// batchRecords is the number of records whose keys are read together. Package format is several
// times as fast in bulk, and gathering the scattered records involves less waiting.
const batchRecords = 64

// A batch is gathered if it has at least minGathered records of at most maxGathered bytes.
// Otherwise each record is examined in place.
const (
	minGathered = 8
	maxGathered = 1024
)

// batch is a set of elements whose keys are read together.
type batch struct {
	*records
	elems      []uint64
	copies     []byte // copies of their records; nil for few or large records
	copyBuffer []byte // memory for the copies
	keys       [batchRecords]uint64
}

// inBatches calls f for consecutive batches of elems.
func (r *records) inBatches(elems []uint64, f func(b *batch)) {
	b, _ := r.batches.Get().(*batch)
	if b == nil {
		b = &batch{records: r}
	}
	defer r.batches.Put(b)

	for len(elems) > 0 {
		n := min(batchRecords, len(elems))
		b.elems = elems[:n]
		b.copies = nil
		elems = elems[n:]
		if n >= minGathered && r.recordBytes <= maxGathered {
			if b.copyBuffer == nil {
				b.copyBuffer = make([]byte, batchRecords*r.recordBytes)
			}
			b.copies = r.recordsOf(b.copyBuffer, b.elems)
		}
		f(b)
	}

	b.elems = nil
}

// bitRanges returns n bits of each key, starting at bit from. The result is valid until the next
// call.
func (b *batch) bitRanges(from, n int) []uint64 {
	ranges := b.keys[:len(b.elems)]
	if b.copies != nil {
		b.keyer.BitRanges(ranges, b.copies, from, n)
		return ranges
	}
	for i, e := range b.elems {
		ranges[i] = b.keyer.BitRange(b.recordAt(e), from, n)
	}
	return ranges
}

func (r *records) less(a, b uint64) bool {
	c := r.keyer.Compare(r.recordAt(a), r.recordAt(b))
	if c != 0 {
		return c < 0
	}
	return r.indexOf(a) < r.indexOf(b)
}

// smallTie is the largest group of ties that is sorted by comparing records.
const smallTie = 12

// refine sorts neighbors in a whose elements tie although their keys may differ in later bits.
// Elements contain the key from bit from on. REQUIRES: a is sorted, and tmp has the same length
func (r *records) refine(
	sorter *radix.Sorter[uint64],
	a, tmp []uint64,
	from int,
) {
	tieBits := r.tieBits(from)
	if tieBits == 0 {
		return
	}
	for i, prefetched := 0, 0; i < len(a); {
		end := endOfTie(a, i, tieBits)
		if end-i > 1 {
			prefetched = r.prefetchTies(
				a,
				max(prefetched, i),
				end+tiesAhead,
				tieBits,
			)
			r.sortTies(sorter, a[i:end], tmp[i:end], from)
		}
		i = end
	}
}

// endOfTie returns the end of the group of ties that begins at i.
func endOfTie(a []uint64, i int, tieBits uint) int {
	end := i + 1
	for end < len(a) && a[end]>>tieBits == a[i]>>tieBits {
		end++
	}
	return end
}

// tiesAhead is the number of elements that are examined in advance for ties. It matches the
// number of memory requests that a processor can have in flight.
const tiesAhead = 24

// prefetchTies prefetches the records of small groups of ties that begin before end, and returns
// the end of the last group. Larger groups are gathered, which includes prefetching.
func (r *records) prefetchTies(a []uint64, from, end int, tieBits uint) int {
	for from < min(end, len(a)) {
		next := endOfTie(a, from, tieBits)
		n := next - from
		if n > 1 && n < batchRecords {
			r.prefetch(a[from:next])
		}
		from = next
	}
	return from
}

// sortTies sorts a group of ties. It sorts a small group by comparing records. It sorts a large
// group by the next key bits that vary within the group. This divides the group into smaller ones,
// even if the keys share a long prefix.
func (r *records) sortTies(
	sorter *radix.Sorter[uint64],
	group, tmp []uint64,
	from int,
) {
	if len(group) <= smallTie {
		for i := 1; i < len(group); i++ {
			e := group[i]
			j := i
			for ; j > 0 && r.less(e, group[j-1]); j-- {
				group[j] = group[j-1]
			}
			group[j] = e
		}
		return
	}

	next, searches := r.followingBits(from)
	if searches {
		next = r.agreedBits(group[1:], group[0], from)
	}
	r.refillKeyBits(group, next)
	sorter.SortInPlace(group, tmp)
	r.refine(sorter, group, tmp, next)
}
