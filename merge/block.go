package merge

import (
	"bytes"
	"sync/atomic"
	"unsafe"

	"github.com/extsort/extsort/format"
)

// buffer is the memory of one input block: its records and, unless the records are their own normalized keys,
// the prefix of each key.
type buffer struct {
	recs []byte
	keys []uint64
}

// isNative reports whether records are words that are their own keys, so that there is nothing to extract.
func isNative(k *format.Keyer) bool { return k.Identity() && k.KeySize() == 8 }

// bufferBytes is what a buffer for n records takes.
func bufferBytes(k *format.Keyer, n int) int64 {
	perRecord := k.Layout().RecordSize
	if !isNative(k) {
		perRecord += 8
	}
	return int64(n) * int64(perRecord)
}

func newBuffer(k *format.Keyer, n int) *buffer {
	b := &buffer{}
	if isNative(k) {
		b.keys = make([]uint64, n)
		b.recs = wordBytes(b.keys)
		return b
	}
	b.recs = make([]byte, n*k.Layout().RecordSize)
	b.keys = make([]uint64, n)
	return b
}

// wordBytes is the memory of words as bytes.
func wordBytes(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// block is a stretch of one input in memory.
type block struct {
	input int
	first int64 // index in the input of its first record
	recs  []byte
	keys  []uint64

	buf     *buffer
	free    chan<- *buffer // where buf goes when nobody holds the block any more
	holders atomic.Int32   // spans that still need it, and the queue as long as it does
}

func newBlock(input int, first int64, buf *buffer, free chan<- *buffer) *block {
	b := &block{input: input, first: first, buf: buf, free: free}
	b.holders.Store(1)
	return b
}

// release gives back one hold; the last one frees the memory. The channel has room for all buffers.
func (b *block) release() {
	if b.holders.Add(-1) == 0 {
		b.free <- b.buf
	}
}

// fill makes recs, which were read into b.buf, the block's records. A reader that has the records in memory
// already may return them from elsewhere; they are copied only where words would not be aligned.
func (b *block) fill(k *format.Keyer, recs []byte) {
	n := len(recs) / k.Layout().RecordSize
	b.recs, b.keys = recs, b.buf.keys[:n]
	if !isNative(k) {
		k.Prefixes(b.keys, recs)
		return
	}
	at := unsafe.Pointer(unsafe.SliceData(recs))
	switch {
	case at == unsafe.Pointer(unsafe.SliceData(b.keys)):
	case uintptr(at)%8 == 0:
		b.keys = unsafe.Slice((*uint64)(at), n)
	default:
		b.recs = wordBytes(b.keys)
		copy(b.recs, recs)
	}
}

// stretch is a part of a block that belongs to one range: consecutive records with their key prefixes.
type stretch struct {
	keys []uint64
	recs []byte
}

func (b *block) stretch(from, to, recordSize int) stretch {
	return stretch{keys: b.keys[from:to], recs: b.recs[from*recordSize : to*recordSize]}
}

// searcher finds where a splitter falls in a block. A splitter is a normalized key.
type searcher struct {
	keyer *format.Keyer
	size  int    // record size
	wide  bool   // the key is longer than its prefix
	key   []byte // the splitter
	word  uint64 // its prefix
}

func newSearcher(k *format.Keyer) *searcher {
	return &searcher{keyer: k, size: k.Layout().RecordSize, wide: k.KeySize() > 8}
}

// seek sets the splitter.
func (s *searcher) seek(key []byte) {
	s.key, s.word = key, 0
	for _, c := range key[:min(len(key), 8)] {
		s.word = s.word<<8 | uint64(c)
	}
}

// lowerBound is the index of the first record of b, from index from on, whose key is not below the splitter.
func (s *searcher) lowerBound(b *block, from int) int {
	return s.partitionPoint(b, from, 0)
}

// upperBound is the index of the first record of b, from index from on, whose key is above the splitter.
func (s *searcher) upperBound(b *block, from int) int {
	return s.partitionPoint(b, from, 1)
}

// partitionPoint gallops from where the last splitter fell, because the next is usually near, and then halves.
// Records that compare below the bound come first: those whose comparison with the splitter is less than bound.
func (s *searcher) partitionPoint(b *block, from, bound int) int {
	lo, step := from, 16
	hi := lo
	for hi < len(b.keys) && s.compare(b, hi) < bound {
		lo, hi = hi+1, hi+step
		step *= 2
	}
	hi = min(hi, len(b.keys))
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if s.compare(b, mid) < bound {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// compare orders record i of b against the splitter.
func (s *searcher) compare(b *block, i int) int {
	switch key := b.keys[i]; {
	case key < s.word:
		return -1
	case key > s.word:
		return 1
	case !s.wide:
		return 0
	}
	var stack [64]byte
	return bytes.Compare(s.keyer.Append(stack[:0], b.recs[i*s.size:(i+1)*s.size]), s.key)
}
