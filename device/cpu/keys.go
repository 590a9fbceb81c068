package cpu

import (
	"context"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// keys is the kind of bare keys. The element is the whole normalized key, so equal elements are
// equal records, and only elements are kept.
type keys[E radix.Element] struct {
	keyer     *format.Keyer
	pool      *pool.Pool[E]
	sameBytes bool // records have the same bytes as their elements
}

func newKeyChunk[E radix.Element](
	opt device.ChunkOptions,
	s sizes,
) (device.Chunk, error) {
	e, err := newPipeline[E, E](opt, s)
	if err != nil {
		return nil, err
	}
	k := opt.Keyer
	e.kind = &keys[E]{
		keyer:     k,
		pool:      e.pool,
		sameBytes: k.Identity() && s.recordBytes == s.elementBytes,
	}
	return e, nil
}

func (k *keys[E]) fromPrefix(prefix uint64) E {
	return E(prefix)
}
func (k *keys[E]) tieBits(int) uint {
	return 0
}
func (k *keys[E]) keysOf(
	_ *worker[E, E],
	elems []E,
	_ int,
) []E {
	return elems
}

func (k *keys[E]) extract(
	w *worker[E, E],
	recs []byte,
	_ int64,
) (keys, elems []E) {
	if k.sameBytes {
		elems = arena.View[E](recs)
		return elems, elems
	}
	keys = w.batchKeys[:len(recs)/k.keyer.Layout().RecordSize]
	switch dst := any(keys).(type) {
	case []uint64:
		k.keyer.Prefixes(dst, recs)
	case []uint32:
		k.keyer.Prefixes32(dst, recs)
	}
	return keys, keys
}

// refineTied frees the blocks of a leaf whose elements are all the same.
func (k *keys[E]) refineTied(_ context.Context, l *leaf[E]) error {
	k.pool.Free(l.zone, l.Head)
	l.List = pool.Empty
	l.isSorted = true
	return nil
}

// sortLeaf uses out if possible: like w.a, it is in the cache. Other memory makes the moves take
// 1.5 times as long.
func (k *keys[E]) sortLeaf(
	w *worker[E, E],
	l *leaf[E],
	out []byte,
) []E {
	dst := w.leafKeys[:l.count]
	room := len(out) / int(unsafe.Sizeof(dst[0]))
	if k.sameBytes &&
		int64(room) >= l.count {
		dst = arena.View[E](out)[:l.count]
	}
	inBlocks := l.count - l.majorityCount
	if inBlocks > 0 {
		sortBlocks(w, k.pool, l, dst[:inBlocks])
	}
	if l.majorityCount > 0 {
		radix.InsertEqual(dst, int(l.count-l.majorityCount), l.majority)
	}
	return dst
}

// sortBlocks sorts the contents of the blocks of a leaf to dst.
func sortBlocks[E radix.Element](
	w *worker[E, E],
	p *pool.Pool[E],
	l *leaf[E],
	dst []E,
) {
	w.blocks = w.blocks[:0]
	for b := l.Head; b != pool.None; b = p.Next[b] {
		w.blocks = append(w.blocks, p.Content(b))
	}
	s := radix.SpanOf(l.low, l.high)
	if s.Width == 8*int(unsafe.Sizeof(l.low)) {
		s = radix.SpanOfBlocks(w.blocks)
	}
	w.radix.Sort(dst, w.leafTmp[:len(dst)], w.blocks, s)
}

func (k *keys[E]) gatherRecords(
	_ *worker[E, E],
	dst []byte,
	sorted []E,
) []byte {
	return k.recordsOf(dst, sorted)
}
func (k *keys[E]) storeElements(
	_ *worker[E, E],
	dst, sorted []E,
) {
	copy(dst, sorted)
}

func (k *keys[E]) recordsOf(dst []byte, elems []E) []byte {
	if k.sameBytes {
		return arena.ByteView(elems)
	}
	dst = dst[:len(elems)*k.keyer.Layout().RecordSize]
	switch elems := any(elems).(type) {
	case []uint64:
		k.keyer.Records(dst, elems)
	case []uint32:
		k.keyer.Records32(dst, elems)
	}

	return dst
}
