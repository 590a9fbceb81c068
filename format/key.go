package format

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"sort"
)

// A Keyer converts the key fields of a record to its normalized key: an unsigned big-endian bit
// string of KeySize bytes whose memcmp order is the sort order.
//
//	field          byte order in the key   then
//	Unsigned       big-endian              –
//	Signed         big-endian              the sign bit is flipped
//	floats         big-endian              all bits are flipped if the sign bit is set, else the sign bit is
//	UCS            each one big-endian     –
//	Bytes          unchanged               –
//	desc           –                       all bits of the field are inverted
//	Numeric        –                       both zeros become one number, and all NaNs another
//
// The fields are concatenated, most significant first. A Keyer is immutable and safe for
// concurrent use.
type Keyer struct {
	layout  Layout
	keySize int     // in bytes
	pieces  []piece // the key from its first byte to its last
	plain   bool    // the key is one ascending Bytes field, which the bytes package compares faster
}

// NewKeyer returns the Keyer of a layout, or an error if the layout is invalid.
func NewKeyer(l Layout) (*Keyer, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	k := &Keyer{layout: l}
	k.plain = len(l.Key) == 1 && l.Key[0].Type.Kind == Bytes && !l.Key[0].Desc
	for _, f := range l.Key {
		for at := 0; at < f.Type.KeyBytes(); at += f.Type.pieceBytes() {
			n := min(f.Type.pieceBytes(), f.Type.KeyBytes()-at)
			p := newPiece(f, at, n)
			k.keySize += n
			p.end = 8 * k.keySize
			k.pieces = append(k.pieces, p)
		}
	}

	return k, nil
}

// Layout returns the layout of the Keyer.
func (k *Keyer) Layout() Layout { return k.layout }

// KeySize returns the width of the normalized key in bytes.
func (k *Keyer) KeySize() int { return k.keySize }

// A Prefixer computes the prefixes of records: a Keyer, or a function whose result is the key.
type Prefixer interface {
	Layout() Layout // of the records
	PrefixBits() int
	Prefixes(dst []uint64, recs []byte) // as Keyer.Prefixes
}

// PrefixBits returns the number of bits in the result of Prefix: the width of the key, but at most
// 64.
func (k *Keyer) PrefixBits() int { return min(8*k.keySize, 64) }

// PrefixOf returns the Prefix of a record whose normalized key is, or begins with, key.
func PrefixOf(key []byte) (prefix uint64) {
	for _, c := range key[:min(len(key), 8)] {
		prefix = prefix<<8 | uint64(c)
	}
	return prefix
}

// Identity reports whether the bytes of a record, read as an unsigned integer in this machine's
// byte order, are already its key. Such records may be sorted in place as []uint8, []uint16,
// []uint32 or []uint64, depending on the RecordSize.
func (k *Keyer) Identity() bool {
	f := k.layout.Key[0]
	if !k.layout.IsBare() || f.Desc ||
		f.Type.Kind != Unsigned && f.Type.Kind != Bytes {
		return false
	}
	switch f.Type.Size {
	case 1:
		return true
	case 2, 4, 8:
		return f.Type.littleEndian() != hostBigEndian
	}

	return false
}

// Append appends the normalized key of rec to dst.
func (k *Keyer) Append(dst, rec []byte) []byte {
	if k.plain {
		return append(dst, k.field(rec)...)
	}
	for i := range k.pieces {
		p := &k.pieces[i]
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], p.value(rec)<<(p.signShift&63))
		dst = append(dst, b[:p.size]...)
	}

	return dst
}

func (k *Keyer) field(rec []byte) []byte {
	return rec[k.layout.Key[0].Offset:][:k.layout.Key[0].Type.Size]
}

// Compare compares two records by their keys. The result is negative, zero or positive if a's key
// is less than, equal to or greater than b's. It examines only as many fields as needed and does
// not allocate.
func (k *Keyer) Compare(a, b []byte) int {
	if k.plain {
		return bytes.Compare(k.field(a), k.field(b))
	}
	for i := range k.pieces {
		p := &k.pieces[i]
		c := cmp.Compare(p.value(a), p.value(b))
		if c != 0 {
			return c
		}
	}

	return 0
}

// Prefix returns the most significant PrefixBits bits of the normalized key as a number (in the
// low bits).
func (k *Keyer) Prefix(rec []byte) uint64 {
	return k.BitRange(rec, 0, k.PrefixBits())
}

// BitRange returns n bits of the normalized key as a number, starting from bits after its most
// significant bit. Bits past the end of the key are 0. Only the fields in the window are
// examined. REQUIRES: 0 ≤ from, 0 ≤ n ≤ 64
func (k *Keyer) BitRange(rec []byte, from, n int) uint64 {
	var word uint64
	for i := k.pieceAt(from); i < len(k.pieces) &&
		k.pieces[i].firstBit() < from+n; i++ {
		p := &k.pieces[i]
		left, right := p.shifts(from + n)
		word |= p.value(rec) << left >> right
	}
	return word & lowBits(n)
}

// pieceAt returns the index of the first piece that ends after the given bit of the key.
func (k *Keyer) pieceAt(bit int) int {
	return sort.Search(len(k.pieces), func(i int) bool {
		return k.pieces[i].end > bit
	})
}

// lowBits returns a number whose n least significant bits are set, 0 ≤ n ≤ 64.
func lowBits(n int) uint64 { return 1<<uint(n) - 1 }
