package cpu

import (
	"math/bits"
	"sync"

	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// records is the codec of records that are kept as they were loaded, or stay where they come from, beside their
// elements:
//
//	63                          indexBits         0
//	+---------------------------+-----------------+
//	| leading bits of the key   | index of record |
//	+---------------------------+-----------------+
//
// Where the key has fewer bits than there is room for, the high bits are 0.
type records struct {
	keyer      *format.Keyer
	size       int    // bytes of a record
	kept       []byte // all records, in the order of the input
	mapped     bool   // they are there before they are read
	indexBits  uint
	windowBits int // of the key that one element holds

	batches sync.Pool // of *batch: made anew for every block, they are much garbage
}

func newRecords(k *format.Keyer, kept []byte, capacity int64) *records {
	indexBits := uint(bits.Len64(uint64(max(capacity-1, 0))))
	return &records{
		keyer: k, size: k.Layout().RecordSize, kept: kept, indexBits: indexBits,
		windowBits: min(64-int(indexBits), 8*k.KeySize()),
	}
}

func (r *records) place(unit []byte, first int64, n int) []byte {
	if r.mapped {
		return unit[:n*r.size]
	}
	return r.kept[first*int64(r.size):][:n*r.size]
}

func (r *records) fromPrefix(prefix uint64) uint64 {
	return prefix >> (r.keyer.PrefixBits() - r.windowBits) << r.indexBits
}

func (r *records) extract(dst []uint64, recs []byte, first int64) []uint64 {
	dst = dst[:len(recs)/r.size]
	r.keyer.Prefixes(dst, recs)
	drop := uint(r.keyer.PrefixBits() - r.windowBits)
	for i, p := range dst {
		dst[i] = p>>drop<<r.indexBits | uint64(first+int64(i))
	}
	return dst
}

// gatherBatch is the number of records that are asked for before the first of them is copied: as many as the
// processor can wait for at a time, and few enough to stay in L1.
const gatherBatch = 16

// records gathers. The records lie anywhere in memory, so each costs a miss or two of the caches: a batch
// of them is asked for while the batch before is copied.
func (r *records) records(dst []byte, elems []uint64) []byte {
	dst = dst[:len(elems)*r.size]
	r.prefetch(elems[:min(gatherBatch, len(elems))])
	for at := 0; at < len(elems); {
		end := min(at+gatherBatch, len(elems))
		r.prefetch(elems[end:min(end+gatherBatch, len(elems))])
		for ; at < end; at++ {
			copy(dst[at*r.size:(at+1)*r.size], r.record(elems[at]))
		}
	}
	return dst
}

func (r *records) room([]byte) []uint64 { return nil }

func (r *records) prefetch(elems []uint64) {
	if len(elems) > 0 && r.size <= 512 {
		radix.PrefetchRecords(&r.kept[0], elems, 1<<r.indexBits-1, r.size)
	}
}

func (r *records) record(e uint64) []byte {
	at := int64(r.index(e)) * int64(r.size)
	return r.kept[at : at+int64(r.size)]
}

func (r *records) index(e uint64) uint64 { return e & r.indexMask() }

func (r *records) indexMask() uint64 { return 1<<r.indexBits - 1 }

func (r *records) tieBits(from int) uint {
	if from+r.windowBits >= 8*r.keyer.KeySize() {
		return 0 // the element holds the rest of the key: then the index decides
	}
	return r.indexBits
}

// next goes on with the next bits if they end the key, or nearly so: to look for the first that differ takes a look
// at whole keys, several times as long. Where more is left, it may be a long common prefix.
func (r *records) next(from int) int {
	if next := from + r.windowBits; next+2*r.windowBits >= 8*r.keyer.KeySize() {
		return next
	}
	return -1
}

func (r *records) agreement(elems []uint64, pivot uint64, from int) int {
	from, agreed := from+r.windowBits, 8*r.keyer.KeySize()
	r.inBatches(elems, func(b *batch) {
		for at := from; at < agreed; at += 64 {
			width := min(64, agreed-at)
			first, differ := r.keyer.Window(r.record(pivot), at, width), uint64(0)
			for _, w := range b.windows(at, width) {
				differ |= w ^ first
			}
			if differ != 0 {
				agreed = at + width - bits.Len64(differ)
			}
		}
	})
	return agreed &^ 7
}

func (r *records) rewindow(elems []uint64, from int) {
	if from >= 8*r.keyer.KeySize() {
		for i, e := range elems {
			elems[i] = r.index(e)
		}
		return
	}
	r.inBatches(elems, func(b *batch) {
		for i, w := range b.windows(from, r.windowBits) {
			b.elems[i] = w<<r.indexBits | r.index(b.elems[i])
		}
	})
}

// windowBatch is the number of records whose keys are read together: format does that several times as fast in bulk,
// and the records, which lie anywhere, are gathered with less waiting.
const windowBatch = 64

// minGathered records are worth it, if none is larger than maxGathered bytes: of fewer, each is looked at where it
// lies.
const (
	minGathered = 8
	maxGathered = 1024
)

// batch is elements whose keys are read together.
type batch struct {
	*records
	elems []uint64
	recs  []byte // copies of their records; nil: of few, or large ones, there are none
	space []byte // for the copies
	keys  [windowBatch]uint64
}

// inBatches calls f for some elements after the other.
func (r *records) inBatches(elems []uint64, f func(b *batch)) {
	b, _ := r.batches.Get().(*batch)
	if b == nil {
		b = &batch{records: r}
	}
	defer r.batches.Put(b)
	for len(elems) > 0 {
		n := min(windowBatch, len(elems))
		b.elems, b.recs, elems = elems[:n], nil, elems[n:]
		if n >= minGathered && r.size <= maxGathered {
			if b.space == nil {
				b.space = make([]byte, windowBatch*r.size)
			}
			b.recs = r.records(b.space, b.elems)
		}
		f(b)
	}
	b.elems = nil
}

// windows are n bits of each key, from one on. They are lost with the next call.
func (b *batch) windows(from, n int) []uint64 {
	windows := b.keys[:len(b.elems)]
	if b.recs != nil {
		b.keyer.Windows(windows, b.recs, from, n)
		return windows
	}
	for i, e := range b.elems {
		windows[i] = b.keyer.Window(b.record(e), from, n)
	}
	return windows
}

func (r *records) less(a, b uint64) bool {
	if c := r.keyer.Compare(r.record(a), r.record(b)); c != 0 {
		return c < 0
	}
	return r.index(a) < r.index(b)
}
