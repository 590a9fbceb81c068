package format

import (
	"bytes"
	"slices"
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
	keySize int     // bytes
	starts  []int   // where each field begins in the key, in bytes
	prefix  []piece // the first PrefixBits bits of the key
	simple  []piece // the key as pieces, one or two per field; nil if a field is wider than 16 bytes
}

// NewKeyer makes the Keyer of a layout, or reports what is wrong with the layout.
func NewKeyer(l Layout) (*Keyer, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	k := &Keyer{layout: l, keySize: l.KeySize()}
	at, wide := 0, false
	for _, f := range l.Key {
		k.starts = append(k.starts, at)
		at += f.Type.Size
		wide = wide || f.Type.Size > 16
	}
	k.prefix = k.appendPieces(nil, 0, k.PrefixBits())
	for i := 0; i < len(l.Key) && !wide; i++ {
		f := l.Key[i]
		for at := 0; at < f.Type.Size; at += 8 {
			k.simple = append(k.simple, newPiece(f, at, min(8, f.Type.Size-at), l.RecordSize))
		}
	}
	return k, nil
}

// Layout is the layout that the Keyer was made for.
func (k *Keyer) Layout() Layout { return k.layout }

// KeySize is the width of the normalized key in bytes.
func (k *Keyer) KeySize() int { return k.keySize }

// PrefixBits is the number of bits that Prefix returns: those of the key, 64 at most.
func (k *Keyer) PrefixBits() int { return min(8*k.keySize, 64) }

// PrefixOf is the Prefix of a record with that normalized key, or with a key that begins so.
func PrefixOf(key []byte) (prefix uint64) {
	for _, c := range key[:min(len(key), 8)] {
		prefix = prefix<<8 | uint64(c)
	}
	return prefix
}

// Identity reports whether the bytes of a record, read as one unsigned integer in this machine's byte order,
// are already its key. Such records may be sorted as []uint8, []uint16, []uint32 or []uint64 in place,
// whichever has the RecordSize.
func (k *Keyer) Identity() bool {
	f := k.layout.Key[0]
	if !k.layout.IsBare() || f.Desc || f.Type.Kind != Unsigned && f.Type.Kind != Bytes {
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
	for _, f := range k.layout.Key {
		dst = f.appendNormalized(dst, rec)
	}
	return dst
}

func (f Field) appendNormalized(dst, rec []byte) []byte {
	start := len(dst)
	dst = append(dst, rec[f.Offset:f.Offset+f.Type.Size]...)
	key := dst[start:]
	if f.Type.littleEndian() {
		slices.Reverse(key)
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

// Compare orders two records by their keys: negative, zero or positive as a's key is less than, equal to or
// greater than b's. It looks only at as many fields as it needs and does not allocate.
func (k *Keyer) Compare(a, b []byte) int {
	for i := range k.simple {
		if c := k.simple[i].compare(a, b); c != 0 {
			return c
		}
	}
	if k.simple != nil {
		return 0
	}
	for _, f := range k.layout.Key {
		if c := f.compare(a, b, k.layout.RecordSize); c != 0 {
			return c
		}
	}
	return 0
}

func (f Field) compare(a, b []byte, recordSize int) int {
	if f.Type.Kind == Bytes {
		c := bytes.Compare(a[f.Offset:f.Offset+f.Type.Size], b[f.Offset:f.Offset+f.Type.Size])
		if f.Desc {
			return -c
		}
		return c
	}
	for at := 0; at < f.Type.Size; at += 8 {
		p := newPiece(f, at, min(8, f.Type.Size-at), recordSize)
		if c := p.compare(a, b); c != 0 {
			return c
		}
	}
	return 0
}
