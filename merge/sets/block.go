package sets

import (
	"bytes"
	"sort"
	"sync/atomic"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/match"
)

// prefixBytes is the number of bytes of a key in block.keys.
const prefixBytes = 8

// A block contains consecutive records of an input. It consists of whole groups, unless a group is
// larger than a block. (A group consists of all records of an input with the same key.)
type block struct {
	stretch

	// open means that the block contains only one group, and that the next block may begin with
	// more records of it.
	open bool

	// continues means that the block begins with more records of the group before it.
	continues bool

	distinct bool // no two records have the same key

	holders atomic.Int32  // number of spans that use the block, plus 1 for the head of the input
	free    chan<- *block // receives the block after the last release
}

// newBlock returns a block with room for the given number of records.
func newBlock(k *format.Keyer, records int) *block {
	size := k.Layout().RecordSize
	memory := make([]uint64, (records*size+7)/8) // aligned, because b.keys may be a view of it
	b := &block{stretch: stretch{keyer: k, size: size}}
	b.recs = arena.ByteView(memory)[: 0 : records*size]
	if !isNative(k) {
		b.keys = make([]uint64, 0, records)
	}
	return b
}

// isNative reports whether a record is a single word that is its own key.
func isNative(k *format.Keyer) bool { return k.Identity() && k.KeySize() == prefixBytes }

// setRecords sets the content of the block to the first n records of its memory.
func (b *block) setRecords(n int) {
	b.recs = b.recs[:n*b.size]
	b.open = false
	b.continues = false
	if isNative(b.keyer) {
		b.keys = arena.View[uint64](b.recs)
		return
	}
	b.keys = b.keys[:n]
	b.keyer.Prefixes(b.keys, b.recs)
}

// truncate keeps the first n records.
func (b *block) truncate(n int) {
	b.recs = b.recs[:n*b.size]
	b.keys = b.keys[:n]
}

// release drops one hold on the block. The channel has room for all blocks.
func (b *block) release() {
	if b.holders.Add(-1) == 0 {
		b.free <- b
	}
}

// check returns the index of the first record that is less than its predecessor, or -1. It also
// determines whether the keys are distinct.
func (b *block) check() (disorder int) {
	descends, repeats := match.Order(b.keys)
	b.distinct = !repeats
	if !descends && (!repeats || !b.isWide()) {
		return -1
	}

	b.distinct = true
	for i := 1; i < len(b.keys); i++ {
		c := b.compare(i-1, &b.stretch, i)
		if c > 0 {
			return i
		}
		if c == 0 {
			b.distinct = false
		}
	}
	return -1
}

// A stretch is a sequence of records in key order.
type stretch struct {
	keyer *format.Keyer
	size  int      // record size in bytes
	keys  []uint64 // the first 8 bytes of the normalized keys
	recs  []byte
}

// isWord reports whether a record is a single word, which can be moved as one.
func (s *stretch) isWord() bool { return s.size == prefixBytes }

// isWide reports whether a key is longer than its prefix.
func (s *stretch) isWide() bool { return s.keyer.KeySize() > prefixBytes }

// record returns record i.
func (s *stretch) record(i int) []byte { return s.recs[i*s.size : (i+1)*s.size] }

// slice returns the records with indexes from (inclusive) to to (exclusive).
func (s *stretch) slice(from, to int) stretch {
	part := *s
	part.keys = s.keys[from:to]
	part.recs = s.recs[from*s.size : to*s.size]
	return part
}

// compare compares the key of record i with that of record j of another stretch.
func (s *stretch) compare(i int, other *stretch, j int) int {
	a := s.keys[i]
	b := other.keys[j]
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case !s.isWide():
		return 0
	}
	return s.compareRest(i, other, j)
}

// compareRest compares two keys with the same prefix.
func (s *stretch) compareRest(i int, other *stretch, j int) int {
	if s.keyer == other.keyer {
		return s.keyer.Compare(s.record(i), other.record(j))
	}
	var ofA, ofB [64]byte
	return bytes.Compare(s.keyer.Append(ofA[:0], s.record(i)), other.keyer.Append(ofB[:0], other.record(j)))
}

// groupEnd returns the index after the last record with the same key as record i.
func (s *stretch) groupEnd(i int) int {
	end := i + 1
	for end < len(s.keys) && s.keys[end] == s.keys[i] {
		if s.isWide() && s.compareRest(i, s, end) != 0 {
			return end
		}
		end++
	}
	return end
}

// lastGroup returns the index of the first record with the same key as the last record.
func (s *stretch) lastGroup() int {
	last := len(s.keys) - 1
	start := last
	for start > 0 && s.keys[start-1] == s.keys[last] {
		if s.isWide() && s.compareRest(start-1, s, last) != 0 {
			return start
		}
		start--
	}
	return start
}

// countUpTo returns the number of records whose keys are at most the key of record j of another
// stretch. With less, it counts only smaller keys.
func (s *stretch) countUpTo(other *stretch, j int, less bool) int {
	bound := 1
	if less {
		bound = 0
	}
	return sort.Search(len(s.keys), func(i int) bool { return s.compare(i, other, j) >= bound })
}
