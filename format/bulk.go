package format

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Bulk forms of Prefix and Window. They work on blocks of blockKeys records, in steps that each are one tight
// loop over numbers that stay in the first-level cache: gather the raw numbers of one piece, normalize them,
// place them. Where a record is one little-endian number, gathering is a copy.

const blockKeys = 512

var hostBigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// Prefixes sets dst[i] to the Prefix of the i-th record of recs. REQUIRES: len(recs) == len(dst)·RecordSize.
func (k *Keyer) Prefixes(dst []uint64, recs []byte) {
	k.requireRecords(len(dst), recs)
	done := k.vectorKeys(dst, recs)
	k.bulk(dst[done:], recs[done*k.layout.RecordSize:], k.prefix, ^uint64(0))
}

// Windows sets dst[i] to the Window of the i-th record of recs.
// REQUIRES: 0 ≤ from, 0 ≤ n ≤ 64, len(recs) == len(dst)·RecordSize.
func (k *Keyer) Windows(dst []uint64, recs []byte, from, n int) {
	k.requireRecords(len(dst), recs)
	var stack [maxPieces]piece
	k.bulk(dst, recs, k.appendPieces(stack[:0], from, n), lowBits(n))
}

// requireRecords panics unless recs are n records.
func (k *Keyer) requireRecords(n int, recs []byte) {
	if len(recs) != n*k.layout.RecordSize {
		panic("format: the number of keys is not the number of records")
	}
}

func (k *Keyer) bulk(dst []uint64, recs []byte, pieces []piece, mask uint64) {
	size := k.layout.RecordSize
	for len(dst) > 0 {
		n := min(len(dst), blockKeys)
		composeBlock(dst[:n], recs[:n*size], size, pieces, mask)
		dst, recs = dst[n:], recs[n*size:]
	}
}

func composeBlock(dst []uint64, recs []byte, stride int, pieces []piece, mask uint64) {
	if len(pieces) == 0 {
		clear(dst)
		return
	}
	pieces[0].column(dst, recs, stride)
	pieces[0].placeAll(dst, mask)
	var more [blockKeys]uint64
	for i := 1; i < len(pieces); i++ {
		column := more[:len(dst)]
		pieces[i].column(column, recs, stride)
		pieces[i].placeAll(column, mask)
		for j, v := range column {
			dst[j] |= v
		}
	}
}

// column sets dst to the values of the piece in consecutive records of stride bytes.
func (p *piece) column(dst []uint64, recs []byte, stride int) {
	p.gather(dst, recs, stride)
	switch {
	case p.spread != 0:
		up, spread, flip := p.up&63, p.spread, p.flip
		for i, v := range dst {
			dst[i] = v ^ uint64(int64(v<<up)>>63)&spread ^ flip
		}
	case p.flip != 0:
		flip := p.flip
		for i := range dst {
			dst[i] ^= flip
		}
	}
}

func (p *piece) placeAll(dst []uint64, mask uint64) {
	if p.left == 0 && p.right == 0 && mask&p.mask == p.mask {
		return
	}
	left, right := p.left&63, p.right&63
	for i, v := range dst {
		dst[i] = v << left >> right & mask
	}
}

// gather sets dst to the raw numbers of the piece. Slicing all loads from one base lets the compiler check
// the bounds once per load.
func (p *piece) gather(dst []uint64, recs []byte, stride int) {
	if len(dst) == 0 {
		return
	}
	recs = recs[p.offset:]
	switch p.load {
	case load1:
		gather1(dst, recs, stride)
	case load2:
		gather2(dst, recs, stride)
	case load4:
		gather4(dst, recs, stride)
	case load8:
		gather8(dst, recs, stride)
	case load2BE:
		gather2(dst, recs, stride)
		for i, v := range dst {
			dst[i] = uint64(bits.ReverseBytes16(uint16(v)))
		}
	case load4BE:
		gather4(dst, recs, stride)
		for i, v := range dst {
			dst[i] = uint64(bits.ReverseBytes32(uint32(v)))
		}
	case load8BE:
		p.gather8BE(dst, recs, stride)
	case loadOdd:
		gatherOdd(dst, recs, stride, p.bytes())
	}
}

func gather1(dst []uint64, recs []byte, stride int) {
	if stride == 1 {
		recs = recs[:len(dst)]
		for i := range dst {
			dst[i] = uint64(recs[i])
		}
		return
	}
	at := 0
	for i := range dst {
		dst[i] = uint64(recs[at])
		at += stride
	}
}

func gather2(dst []uint64, recs []byte, stride int) {
	if stride == 2 {
		numbers := cells[[2]byte](recs, len(dst))[:len(dst)]
		for i := range dst {
			dst[i] = uint64(binary.LittleEndian.Uint16(numbers[i][:]))
		}
		return
	}
	at := 0
	for i := range dst {
		dst[i] = uint64(binary.LittleEndian.Uint16(recs[at : at+2]))
		at += stride
	}
}

func gather4(dst []uint64, recs []byte, stride int) {
	if stride == 4 {
		numbers := cells[[4]byte](recs, len(dst))[:len(dst)]
		for i := range dst {
			dst[i] = uint64(binary.LittleEndian.Uint32(numbers[i][:]))
		}
		return
	}
	at := 0
	for i := range dst {
		dst[i] = uint64(binary.LittleEndian.Uint32(recs[at : at+4]))
		at += stride
	}
}

func gather8(dst []uint64, recs []byte, stride int) {
	if stride == 8 && !hostBigEndian {
		copy(bytesOf(dst), recs)
		return
	}
	at := 0
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(recs[at : at+8])
		at += stride
	}
}

func (p *piece) gather8BE(dst []uint64, recs []byte, stride int) {
	at, down, mask := 0, p.down&63, p.mask
	if stride == 8 {
		numbers := cells[[8]byte](recs, len(dst))[:len(dst)]
		for i := range dst {
			dst[i] = binary.BigEndian.Uint64(numbers[i][:]) >> down & mask
		}
		return
	}
	for i := range dst {
		dst[i] = binary.BigEndian.Uint64(recs[at:at+8]) >> down & mask
		at += stride
	}
}

// gatherOdd reads 8 bytes for each number, as long as there are so many.
func gatherOdd(dst []uint64, recs []byte, stride, size int) {
	down, at, i := uint(64-8*size)&63, 0, 0
	for ; i < len(dst) && at+8 <= len(recs); i++ {
		dst[i] = binary.BigEndian.Uint64(recs[at:at+8]) >> down
		at += stride
	}
	for ; i < len(dst); i++ {
		dst[i] = oddNumber(recs[at : at+size])
		at += stride
	}
}

// cells views the start of b as n arrays A of bytes. Unlike numbers these need no alignment, and unlike b[4*i:4*i+4] the
// compiler knows where they end: cut to the length of the other slice, they need no bounds checks in a loop.
func cells[A [2]byte | [4]byte | [8]byte](b []byte, n int) []A {
	var a A
	if n == 0 {
		return nil
	}
	b = b[:n*len(a)]
	return unsafe.Slice((*A)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// bytesOf is the memory of numbers.
func bytesOf[T uint32 | uint64](numbers []T) []byte {
	if len(numbers) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(numbers))), len(numbers)*int(unsafe.Sizeof(numbers[0])))
}

// Prefixes32 is Prefixes for layouts with keys of at most 4 bytes.
// REQUIRES: KeySize ≤ 4, len(recs) == len(dst)·RecordSize.
func (k *Keyer) Prefixes32(dst []uint32, recs []byte) {
	size := k.layout.RecordSize
	if k.Identity() && size == 4 {
		copy(bytesOf(dst), recs)
		return
	}
	k.requireRecords(len(dst), recs)
	done := k.vectorKeys32(dst, recs)
	dst, recs = dst[done:], recs[done*size:]
	var block [blockKeys]uint64
	for len(dst) > 0 {
		n := min(len(dst), blockKeys)
		composeBlock(block[:n], recs[:n*size], size, k.prefix, ^uint64(0))
		for i, v := range block[:n] {
			dst[i] = uint32(v)
		}
		dst, recs = dst[n:], recs[n*size:]
	}
}

// Records is the inverse of Prefixes: it rebuilds the records from their keys.
// REQUIRES: the layout IsBare, KeySize ≤ 8, len(dst) == len(keys)·RecordSize.
func (k *Keyer) Records(dst []byte, keys []uint64) {
	size := k.layout.RecordSize
	if k.Identity() && size == 8 {
		copy(dst, bytesOf(keys))
		return
	}
	p := k.inverse()
	k.requireRecords(len(keys), dst)
	done := k.vectorRecords(dst, keys)
	dst, keys = dst[done*size:], keys[done:]
	var block [blockKeys]uint64
	for len(keys) > 0 {
		n := min(len(keys), blockKeys)
		for i, v := range keys[:n] {
			block[i] = p.inverse(v)
		}
		p.scatter(dst[:n*size], block[:n], size)
		dst, keys = dst[n*size:], keys[n:]
	}
}

// Records32 is Records for keys of at most 4 bytes.
// REQUIRES: the layout IsBare, KeySize ≤ 4, len(dst) == len(keys)·RecordSize.
func (k *Keyer) Records32(dst []byte, keys []uint32) {
	size := k.layout.RecordSize
	if k.Identity() && size == 4 {
		copy(dst, bytesOf(keys))
		return
	}
	p := k.inverse()
	k.requireRecords(len(keys), dst)
	done := k.vectorRecords32(dst, keys)
	dst, keys = dst[done*size:], keys[done:]
	var block [blockKeys]uint64
	for len(keys) > 0 {
		n := min(len(keys), blockKeys)
		for i, v := range keys[:n] {
			block[i] = p.inverse(uint64(v))
		}
		p.scatter(dst[:n*size], block[:n], size)
		dst, keys = dst[n*size:], keys[n:]
	}
}

// inverse is the one piece of a bare record of at most 8 bytes.
func (k *Keyer) inverse() piece {
	if !k.layout.IsBare() || k.keySize > 8 {
		panic("format: only bare records of at most 8 bytes can be rebuilt from their keys")
	}
	return k.prefix[0]
}

// scatter is the inverse of gather: it writes raw numbers to where the piece stands in consecutive records of stride bytes. numbers are
// lost. REQUIRES: the piece is 1, 2, 4 or 8 bytes, or all of a record.
func (p *piece) scatter(recs []byte, numbers []uint64, stride int) {
	size := p.bytes()
	if p.load >= load2BE {
		for i, v := range numbers {
			numbers[i] = bits.ReverseBytes64(v) >> uint(64-8*size)
		}
	}
	if stride != size {
		scatterApart(recs[p.offset:], numbers, size, stride)
		return
	}
	switch size {
	case 1:
		recs = recs[:len(numbers)]
		for i, v := range numbers {
			recs[i] = byte(v)
		}
	case 2:
		out := cells[[2]byte](recs, len(numbers))[:len(numbers)]
		for i, v := range numbers {
			binary.LittleEndian.PutUint16(out[i][:], uint16(v))
		}
	case 4:
		out := cells[[4]byte](recs, len(numbers))[:len(numbers)]
		for i, v := range numbers {
			binary.LittleEndian.PutUint32(out[i][:], uint32(v))
		}
	case 8:
		if !hostBigEndian {
			copy(recs, bytesOf(numbers))
			return
		}
		out := cells[[8]byte](recs, len(numbers))[:len(numbers)]
		for i, v := range numbers {
			binary.LittleEndian.PutUint64(out[i][:], v)
		}
	default:
		scatterOdd(recs, numbers, size)
	}
}

// scatterOdd writes the low size bytes of each number, side by side: 8 bytes, the last of which the next number is written over.
func scatterOdd(recs []byte, numbers []uint64, size int) {
	recs = recs[:len(numbers)*size]
	at, i := 0, 0
	for ; i < len(numbers) && at+8 <= len(recs); i++ {
		binary.LittleEndian.PutUint64(recs[at:at+8], numbers[i])
		at += size
	}
	for _, v := range numbers[i:] {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], v)
		copy(recs[at:at+size], b[:])
		at += size
	}
}

// scatterApart writes the low size bytes of each number, 1, 2, 4 or 8, at distances of stride bytes.
func scatterApart(dst []byte, numbers []uint64, size, stride int) {
	switch size {
	case 1:
		for i, v := range numbers {
			dst[i*stride] = byte(v)
		}
	case 2:
		for i, v := range numbers {
			binary.LittleEndian.PutUint16(dst[i*stride:], uint16(v))
		}
	case 4:
		for i, v := range numbers {
			binary.LittleEndian.PutUint32(dst[i*stride:], uint32(v))
		}
	case 8:
		for i, v := range numbers {
			binary.LittleEndian.PutUint64(dst[i*stride:], v)
		}
	default:
		panic("format: a piece of no number")
	}
}
