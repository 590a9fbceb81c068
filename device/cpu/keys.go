package cpu

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// keys is the codec of bare keys: the element is the whole normalized key, so equal elements are equal records
// and nothing is kept but elements.
type keys[E radix.Element] struct {
	keyer *format.Keyer
	view  bool // the bytes of a record are those of its element
}

func newKeys[E radix.Element](k *format.Keyer) *keys[E] {
	var e E
	return &keys[E]{keyer: k, view: k.Identity() && k.Layout().RecordSize == int(unsafe.Sizeof(e))}
}

func (k *keys[E]) place(unit []byte, _ int64, n int) []byte {
	return unit[:n*k.keyer.Layout().RecordSize]
}

func (k *keys[E]) fromPrefix(prefix uint64) E { return E(prefix) }

func (k *keys[E]) extract(dst []E, recs []byte, _ int64) []E {
	if k.view {
		return arena.View[E](recs)
	}
	dst = dst[:len(recs)/k.keyer.Layout().RecordSize]
	switch dst := any(dst).(type) {
	case []uint64:
		k.keyer.Prefixes(dst, recs)
	case []uint32:
		k.keyer.Prefixes32(dst, recs)
	}
	return dst
}

func (k *keys[E]) records(dst []byte, elems []E) []byte {
	if k.view {
		return arena.ByteView(elems)
	}
	size := k.keyer.Layout().RecordSize
	dst = dst[:len(elems)*size]
	switch elems := any(elems).(type) {
	case []uint64:
		k.keyer.Records(dst, elems)
	case []uint32:
		k.keyer.Records32(dst, elems)
	}
	return dst
}

func (k *keys[E]) room(dst []byte) []E {
	if !k.view {
		return nil
	}
	return arena.View[E](dst)
}

// The rest is for keys that one element cannot hold.

func (k *keys[E]) tieBits(int) uint          { return 0 }
func (k *keys[E]) next(int) int              { return 8 * k.keyer.KeySize() }
func (k *keys[E]) agreement([]E, E, int) int { return 8 * k.keyer.KeySize() }
func (k *keys[E]) rewindow([]E, int)         {}
func (k *keys[E]) prefetch([]E)              {}
func (k *keys[E]) less(a, b E) bool          { return a < b }
