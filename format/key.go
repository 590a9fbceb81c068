package format

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Keyer turns the key fields of a record into its normalized key: an unsigned big-endian bit string of
// KeySize bytes whose memcmp order is the wanted order.
//
//	field          byte order in the key   then
//	Unsigned       big-endian              –
//	Signed         big-endian              the sign bit is flipped
//	Float          big-endian              all bits are flipped if the sign bit is set, else the sign bit is
//	Bytes          as it stands            –
//	desc           –                       all bits of the field are inverted
//
// Fields follow each other, most significant first. A Keyer is immutable and safe for concurrent use.
type Keyer struct {
	layout  Layout
	keySize int // bytes
}

// NewKeyer makes the Keyer of a layout, or reports what is wrong with the layout.
func NewKeyer(l Layout) (*Keyer, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return &Keyer{layout: l, keySize: l.KeySize()}, nil
}

// Layout is the layout that the Keyer was made for.
func (k *Keyer) Layout() Layout { return k.layout }

// KeySize is the width of the normalized key in bytes.
func (k *Keyer) KeySize() int { return k.keySize }

// PrefixBits is the number of bits that Prefix returns: those of the key, 64 at most.
func (k *Keyer) PrefixBits() int { return min(8*k.keySize, 64) }

// Append appends the normalized key of rec to dst.
func (k *Keyer) Append(dst, rec []byte) []byte {
	for _, f := range k.layout.Key {
		dst = f.appendNormalized(dst, rec)
	}
	return dst
}

func (f Field) appendNormalized(dst, rec []byte) []byte {
	start := len(dst)
	dst = append(dst, rec[f.Offset:f.Offset+f.Type.Size]...)
	key := dst[start:]
	if f.Type.Kind != Bytes && !f.Type.BigEndian {
		for i, j := 0, len(key)-1; i < j; i, j = i+1, j-1 {
			key[i], key[j] = key[j], key[i]
		}
	}
	invert := f.Desc
	switch {
	case f.Type.Kind == Signed:
		key[0] ^= 0x80
	case f.Type.Kind == Float && key[0]&0x80 != 0:
		invert = !invert
	case f.Type.Kind == Float:
		key[0] ^= 0x80
	}
	if invert {
		for i := range key {
			key[i] = ^key[i]
		}
	}
	return dst
}

// Prefix is the most significant PrefixBits bits of the normalized key as a number (in its low bits).
func (k *Keyer) Prefix(rec []byte) uint64 {
	return k.Window(rec, 0, k.PrefixBits())
}

// Prefixes sets dst[i] to the Prefix of the i-th record of recs. REQUIRES: len(recs) == len(dst)·RecordSize.
func (k *Keyer) Prefixes(dst []uint64, recs []byte) {
	size := k.layout.RecordSize
	for i := range dst {
		dst[i] = k.Prefix(recs[i*size : (i+1)*size])
	}
}

// Window is the n bits of the normalized key that start from bits after its most significant one, as a
// number. Bits past the end of the key read as 0. REQUIRES: 0 ≤ from, 0 ≤ n ≤ 64.
func (k *Keyer) Window(rec []byte, from, n int) uint64 {
	var stack [64]byte
	key := k.Append(stack[:0], rec)
	return bitWindow(key, from, n)
}

func bitWindow(key []byte, from, n int) uint64 {
	var padded [16]byte
	if at := from / 8; at < len(key) {
		copy(padded[:9], key[at:])
	}
	hi, lo := binary.BigEndian.Uint64(padded[:8]), uint64(padded[8])<<56
	shift := uint(from % 8)
	word := hi<<shift | lo>>(64-shift)
	if n == 0 {
		return 0
	}
	return word >> (64 - uint(n))
}

// Compare orders two records by their keys: negative, zero or positive as a's key is less than, equal to or
// greater than b's.
func (k *Keyer) Compare(a, b []byte) int {
	var stackA, stackB [64]byte
	return bytes.Compare(k.Append(stackA[:0], a), k.Append(stackB[:0], b))
}

// Records is the inverse of Prefixes: it rebuilds the records from their keys.
// REQUIRES: the layout IsBare, KeySize ≤ 8, len(dst) == len(keys)·RecordSize.
func (k *Keyer) Records(dst []byte, keys []uint64) {
	size := k.layout.RecordSize
	for i, key := range keys {
		k.layout.Key[0].putRecord(dst[i*size:(i+1)*size], key)
	}
}

func (f Field) putRecord(rec []byte, key uint64) {
	width := uint(8 * f.Type.Size)
	sign := uint64(1) << (width - 1)
	if f.Desc {
		key = ^key
	}
	switch {
	case f.Type.Kind == Signed:
		key ^= sign
	case f.Type.Kind == Float && key&sign == 0:
		key = ^key
	case f.Type.Kind == Float:
		key ^= sign
	}
	if f.Type.Kind == Bytes || f.Type.BigEndian {
		key = bits.ReverseBytes64(key << (64 - width))
	}
	for i := range rec {
		rec[i] = byte(key >> (8 * i))
	}
}
