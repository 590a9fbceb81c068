package format

import (
	"encoding/binary"
	"math/bits"
)

// piece is up to 8 consecutive bytes of the normalized key as a number, and how to compute it from a record
// without a branch on the data:
//
//	load    the 8 bytes from load on, little- or big-endian, with zeros where the record is shorter
//	narrow  >> down & mask
//	flip    the bits in spread if the sign bit is set (floats), then the bits in flip (sign, desc)
type piece struct {
	start, load int // of its bytes, and of the 8 bytes around them, in the record
	end         int // in the key, in bits
	bigEndian   bool
	down        uint8
	up          uint8 // moves the sign bit to bit 63
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

// begin is the first bit of the key in the piece.
func (p *piece) begin() int { return p.end - 64 + int(p.up) }

// shifts move the piece to where it stands in a window that ends before the bit end of the key. One of them is 0.
func (p *piece) shifts(end int) (left, right uint8) {
	return uint8(max(end-p.end, 0)) & 63, uint8(max(p.end-end, 0)) & 63
}

// value is the piece of rec's key.
func (p *piece) value(rec []byte) uint64 { return p.normalized(p.raw(rec)) }

func (p *piece) normalized(v uint64) uint64 {
	return v ^ uint64(int64(v<<(p.up&63))>>63)&p.spread ^ p.flip
}
