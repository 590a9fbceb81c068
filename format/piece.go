package format

import (
	"encoding/binary"
	"math/bits"
)

// A piece is up to 8 consecutive bytes of the normalized key as a number, with the steps to
// compute it from a record without a branch that depends on the data:
//
//	load    the 8 bytes from start on, little- or big-endian, with zeros where the record is shorter
//	narrow  to size bytes
//	flip    the bits in spread if the sign bit is set (floats), then the bits in flip (sign, desc)
//	rotate  by rotation (floats, if all NaNs belong at one end)
//	numeric zeros and NaNs to one number each (floats, where equal values are equal keys)
type piece struct {
	start, size int // in the record
	end         int // in the key, in bits
	bigEndian   bool
	signShift   uint8 // moves the sign bit to bit 63
	mask        uint64
	spread      uint64
	flip        uint64
	rotation    uint64
	fraction    uint // number of fraction bits of a float

	wide    *wideFloat     // computes the piece instead of the steps above
	decimal *decimalPiece  // computes the piece instead of the steps above
	numeric *numericFloats // merges zeros and NaNs at the end; nil if they stay distinct
}

// newPiece returns the bytes [at, at+n) of the normalized form of field f. REQUIRES: 1 ≤ n ≤ 8,
// within f; for numbers, at is a multiple of 8; a float of at most 8 bytes or a little-endian
// character is covered completely
func newPiece(f Field, at, n int) piece {
	up := uint8(64 - 8*n)
	if f.Type.IsDecimal() {
		return piece{
			start:     f.Offset,
			size:      n,
			signShift: up,
			mask:      ^uint64(0) >> up,
			decimal: &decimalPiece{
				field: f,
				start: at,
				size:  n,
			},
		}
	}
	p := piece{
		start:     f.Offset + min(f.Type.Place(at), f.Type.Place(at+n-1)),
		size:      n,
		signShift: up,
		mask:      ^uint64(0) >> up,
	}
	p.bigEndian = n > 1 && !f.Type.littleEndian()
	sign := uint64(1) << 63 >> up
	if at == 0 && (f.Type.Kind == Signed || f.Type.IsFloat()) {
		p.flip = sign
	}
	if p.fraction = f.Type.fractionBits(); p.fraction > 0 {
		p.spread = p.mask &^ sign
	}
	if f.Desc {
		p.flip ^= p.mask
	}
	if f.Type.Kind == Extended {
		p.wide = &wideFloat{
			field: f,
			start: f.extendedStart(),
			low:   at > 0,
		}
		return p
	}

	p.rotation = f.rotation()
	if f.isNumeric() {
		p.numeric = newNumericFloats(f, p.mask)
	}
	return p
}

// load returns the number as stored in the record.
func (p *piece) load(rec []byte) uint64 {
	v := leadingWord(rec[p.start:])
	if p.bigEndian {
		return bits.ReverseBytes64(v) >> (p.signShift & 63)
	}
	return v & p.mask
}

// leadingWord returns the first 8 bytes of b, extended with zeros.
func leadingWord(b []byte) (v uint64) {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b)
	}
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// firstBit returns the first bit of the piece within the key.
func (p *piece) firstBit() int { return p.end - 8*p.size }

// shifts returns the shifts that move the piece to its place in a window that ends before bit end
// of the key. One of them is 0.
func (p *piece) shifts(end int) (left, right uint8) {
	return uint8(max(end-p.end, 0)) & 63, uint8(max(p.end-end, 0)) & 63
}

func (p *piece) value(rec []byte) uint64 {
	switch {
	case p.wide != nil:
		return p.wide.value(rec)
	case p.decimal != nil:
		return p.decimal.value(rec)
	}
	v := p.normalized(p.load(rec))
	if p.numeric != nil {
		v = p.numeric.value(v)
	}
	return v
}

func (p *piece) normalized(v uint64) uint64 {
	return ((v ^ uint64(int64(v<<(p.signShift&63))>>63)&p.spread ^ p.flip) + p.rotation) & p.mask
}
