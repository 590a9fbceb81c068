package format

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// piece is up to 8 consecutive bytes of the normalized key as a number, and how to compute it from a record
// without a branch on the data:
//
//	load    the 8 bytes from load on, little- or big-endian, with zeros where the record is shorter
//	narrow  >> down & mask
//	flip    the bits in spread if the sign bit is set (floats), then the bits in flip (sign, desc)
//	place   << left or >> right, to where it stands in a window of the key
type piece struct {
	start, load int // of its bytes, and of the 8 bytes around them, in the record
	bigEndian   bool
	down        uint8
	up          uint8 // moves the sign bit to bit 63
	left, right uint8
	mask        uint64
	spread      uint64
	flip        uint64
}

// newPiece is bytes at to at+n of the normalized form of field f.
// REQUIRES: 1 ≤ n ≤ 8; for numbers at is 0 or 8 and n is 8 or the size of f.
func newPiece(f Field, at, n, recordSize int) piece {
	width := uint(8 * n)
	p := piece{start: f.Offset + at, up: uint8(64 - width), mask: ^uint64(0) >> (64 - width)}
	p.bigEndian = n > 1 && !f.Type.littleEndian()
	if f.Type.littleEndian() {
		p.start = f.Offset + f.Type.Size - at - n
	}
	p.load = min(p.start, max(recordSize, 8)-8) // stays in the record, if that is long enough
	if recordSize < 8 {
		p.load = p.start
	}
	before := p.start - p.load
	p.down = uint8(8 * before)
	if p.bigEndian {
		p.down = uint8(8 * (8 - before - n))
	}
	sign := uint64(1) << (width - 1)
	if at == 0 && (f.Type.Kind == Signed || f.Type.Kind == Float) {
		p.flip = sign
	}
	if f.Type.Kind == Float {
		p.spread = p.mask &^ sign
	}
	if f.Desc {
		p.flip ^= p.mask
	}
	return p
}

// raw is the number as it stands in the record.
func (p *piece) raw(rec []byte) uint64 {
	v := word(rec[p.load:])
	if p.bigEndian {
		v = bits.ReverseBytes64(v)
	}
	return v >> (p.down & 63) & p.mask
}

// word is the first 8 bytes of b, as if zeros followed it. REQUIRES: len(b) > 0.
func word(b []byte) uint64 {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	return shortWord(b)
}

// shortWord is word for up to 7 bytes: from loads at both ends, which may overlap.
func shortWord(b []byte) uint64 {
	switch n := len(b); {
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint32(b[n-4:]))<<(8*(n-4))
	case n >= 2:
		return uint64(binary.LittleEndian.Uint16(b)) | uint64(binary.LittleEndian.Uint16(b[n-2:]))<<(8*(n-2))
	}
	return uint64(b[0])
}

// bytes is the number of key bytes in the piece.
func (p *piece) bytes() int { return (64 - int(p.up)) / 8 }

func (p *piece) compare(a, b []byte) int { return cmp.Compare(p.value(a), p.value(b)) }

// value is the piece of rec's key, not yet placed.
func (p *piece) value(rec []byte) uint64 { return p.normalized(p.raw(rec)) }

func (p *piece) normalized(v uint64) uint64 {
	return v ^ uint64(int64(v<<(p.up&63))>>63)&p.spread ^ p.flip
}

// inverse is the raw number of which v is the normalized one: the sign bit, which is not in spread, stands in v once
// flip is undone.
func (p *piece) inverse(v uint64) uint64 {
	v ^= p.flip
	return v ^ uint64(int64(v<<(p.up&63))>>63)&p.spread
}

// placed is the piece of rec's key where it stands in the window. Bits above the window may be set.
func (p *piece) placed(rec []byte) uint64 {
	return p.value(rec) << (p.left & 63) >> (p.right & 63)
}

// maxPieces is how many pieces a window of 64 bits may need: it touches 9 bytes of the key.
const maxPieces = 9

// appendPieces appends the pieces that the window of n bits from bit from of the key needs.
func (k *Keyer) appendPieces(dst []piece, from, n int) []piece {
	end := (from + n + 7) / 8 // bytes
	for i := k.fieldAt(from / 8); n > 0 && i < len(k.starts) && k.starts[i] < end; i++ {
		f, start := k.layout.Key[i], k.starts[i]
		at := max(0, from/8-start)
		if f.Type.Kind != Bytes {
			at &^= 7
		}
		for ; at < f.Type.Size && start+at < end; at += 8 {
			size := min(8, f.Type.Size-at)
			if f.Type.Kind == Bytes {
				size = min(size, end-start-at)
			}
			p := newPiece(f, at, size, k.layout.RecordSize)
			behind := from + n - 8*(start+at+size) // bits of the window; negative where the piece ends after it
			p.left, p.right = uint8(max(behind, 0)), uint8(max(-behind, 0))
			dst = append(dst, p)
		}
	}
	return dst
}

// fieldAt is the field that has byte at of the key, or the number of fields.
func (k *Keyer) fieldAt(at int) int {
	if at >= k.keySize {
		return len(k.starts)
	}
	i, found := slices.BinarySearch(k.starts, at)
	if !found {
		i-- // it begins before
	}
	return i
}

// Prefix is the most significant PrefixBits bits of the normalized key as a number (in its low bits).
func (k *Keyer) Prefix(rec []byte) uint64 {
	var word uint64
	for i := range k.prefix {
		word |= k.prefix[i].placed(rec)
	}
	return word
}

// Window is the n bits of the normalized key that start from bits after its most significant one, as a
// number. Bits past the end of the key read as 0. Only the fields in the window are looked at.
// REQUIRES: 0 ≤ from, 0 ≤ n ≤ 64.
func (k *Keyer) Window(rec []byte, from, n int) uint64 {
	var stack [maxPieces]piece
	var word uint64
	pieces := k.appendPieces(stack[:0], from, n)
	for i := range pieces {
		word |= pieces[i].placed(rec)
	}
	return word & lowBits(n)
}

// lowBits is a number whose n least significant bits are set, 0 ≤ n ≤ 64.
func lowBits(n int) uint64 { return 1<<uint(n) - 1 }
