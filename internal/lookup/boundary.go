package lookup

import (
	"bytes"
	"cmp"

	"github.com/extsort/extsort/format"
)

// A boundary is the start or, with after, the end of the range of records whose keys begin with
// key. If there are no such records, both are the position where they would be.
type boundary struct {
	key   []byte // the beginning of a normalized key
	after bool

	prefix uint64 // the first bits of key
	shift  int    // right shift that cuts a record's prefix to the length of key
	isWord bool   // prefix contains all of key
}

func newBoundary(k *format.Keyer, key []byte, after bool) boundary {
	bits := min(8*len(key), k.PrefixBits())
	return boundary{
		key:    key,
		after:  after,
		prefix: format.PrefixOf(key),
		shift:  k.PrefixBits() - bits,
		isWord: len(key) <= bits/8,
	}
}

// precedes reports whether a record is before the boundary. It uses scratch as a buffer and returns
// it, possibly grown.
func (b *boundary) precedes(k *format.Keyer, rec, scratch []byte) (before bool, _ []byte) {
	order := cmp.Compare(k.Prefix(rec)>>b.shift, b.prefix)
	if order == 0 && !b.isWord {
		scratch = k.Append(scratch[:0], rec)
		order = bytes.Compare(scratch[:len(b.key)], b.key)
	}
	return b.isBehind(order), scratch
}

// precedesKey reports whether a record with a normalized key is before the boundary.
func (b *boundary) precedesKey(key []byte) bool {
	return b.isBehind(bytes.Compare(key[:len(b.key)], b.key))
}

// isBehind reports whether the boundary is after a record. order is the result of comparing the
// beginning of the record's key with b.key.
func (b *boundary) isBehind(order int) bool {
	return order < 0 || order == 0 && b.after
}

// fraction returns the position of the boundary between two records as a number from 0 to 1,
// assuming that keys grow evenly.
func (b *boundary) fraction(low, high []byte) float64 {
	same := 0
	for same < len(low) && low[same] == high[same] {
		same++
	}
	from := numberAt(low, same, 0)
	to := numberAt(high, same, 0)
	padding := byte(0)
	if b.after {
		padding = 0xff
	}
	at := numberAt(b.key, same, padding)
	if at <= from || to <= from {
		return 0
	}
	return min(float64(at-from)/float64(to-from), 1)
}

// numberAt returns the 8 bytes of key at offset as a big-endian number. Bytes after the end of key
// have the value padding.
func numberAt(key []byte, offset int, padding byte) (n uint64) {
	rest := key[min(offset, len(key)):]
	rest = rest[:min(len(rest), 8)]
	for _, c := range rest {
		n = n<<8 | uint64(c)
	}
	for range 8 - len(rest) {
		n = n<<8 | uint64(padding)
	}
	return n
}
