package format

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// The functions in this file are bulk forms of Prefix and BitRange. They work on blocks of
// blockKeys records in steps. Each step is a tight loop over numbers in the first-level cache: it
// gathers the raw numbers of one piece, normalizes them, or puts them in place.

const blockKeys = 512

var hostBigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// Prefixes sets dst[i] to the Prefix of record i of recs. REQUIRES: len(recs) ==
// len(dst)·RecordSize
func (k *Keyer) Prefixes(dst []uint64, recs []byte) {
	k.BitRanges(dst, recs, 0, k.PrefixBits())
}

// Prefixes32 is Prefixes for layouts whose keys have at most 4 bytes. REQUIRES: KeySize ≤ 4,
// len(recs) == len(dst)·RecordSize
func (k *Keyer) Prefixes32(dst []uint32, recs []byte) {
	k.requireRecords(len(dst), recs)
	size := k.layout.RecordSize
	var block [blockKeys]uint64

	for len(dst) > 0 {
		n := min(len(dst), blockKeys)
		k.Prefixes(block[:n], recs[:n*size])
		for i, v := range block[:n] {
			dst[i] = uint32(v)
		}
		dst = dst[n:]
		recs = recs[n*size:]
	}
}

// BitRanges sets dst[i] to the BitRange of record i of recs. REQUIRES: 0 ≤ from, 0 ≤ n ≤ 64,
// len(recs) == len(dst)·RecordSize
func (k *Keyer) BitRanges(dst []uint64, recs []byte, from, n int) {
	k.requireRecords(len(dst), recs)
	first := k.pieceAt(from)
	last := k.pieceAt(from + n - 1)
	pieces := k.pieces[first:min(last+1, len(k.pieces))]
	size := k.layout.RecordSize
	for len(dst) > 0 {
		block := min(len(dst), blockKeys)
		composeBlock(
			dst[:block],
			recs[:block*size],
			size,
			pieces,
			from+n,
			lowBits(n),
		)
		dst = dst[block:]
		recs = recs[block*size:]
	}
}

func (k *Keyer) requireRecords(n int, recs []byte) {
	if len(recs) != n*k.layout.RecordSize {
		panic("format: the number of keys is not the number of records")
	}
}

// composeBlock joins pieces to windows that end before bit end of the key.
func composeBlock(
	dst []uint64,
	recs []byte,
	stride int,
	pieces []piece,
	end int,
	mask uint64,
) {
	if len(pieces) == 1 && pieces[0].end == end &&
		mask&pieces[0].mask == pieces[0].mask {
		pieces[0].column(dst, recs, stride)
		return
	}
	clear(dst)
	var memory [blockKeys]uint64
	numbers := memory[:len(dst)]
	for i := range pieces {
		left, right := pieces[i].shifts(end)
		pieces[i].column(numbers, recs, stride)
		for j, v := range numbers {
			dst[j] |= v << left >> right & mask
		}
	}
}

// column sets dst to the values of the piece in consecutive records of stride bytes.
func (p *piece) column(dst []uint64, recs []byte, stride int) {
	if p.wide != nil {
		for i := range dst {
			dst[i] = p.wide.value(recs[i*stride:])
		}
		return
	}
	if p.decimal != nil {
		for i := range dst {
			dst[i] = p.decimal.value(recs[i*stride:])
		}
		return
	}
	if p.gather(dst, recs, stride); p.spread != 0 {
		up := p.signShift & 63
		spread := p.spread
		flip := p.flip
		for i, v := range dst {
			dst[i] = v ^ uint64(int64((v^flip)<<up)>>63)&spread
		}
	}
	p.turnBy(dst, p.rotation)
	if p.numeric != nil {
		p.numeric.values(dst)
	}
}

func (p *piece) turnBy(numbers []uint64, n uint64) {
	if p.rotation == 0 {
		return
	}
	for i, v := range numbers {
		numbers[i] = (v + n) & p.mask
	}
}

// gather sets dst to the raw numbers of the piece, flipped. A load may reach into the next
// record, but not past the last one.
func (p *piece) gather(dst []uint64, recs []byte, stride int) {
	if len(dst) == 0 {
		return
	}
	whole := min(len(dst), max(len(recs)-p.start-8+stride, 0)/stride)
	first := unsafe.Pointer(unsafe.SliceData(recs[p.start:]))
	up := p.signShift & 63
	mask := p.mask
	flip := p.flip
	switch {
	case p.size == 8 && stride == 8 && flip == 0 &&
		p.bigEndian == hostBigEndian:
		copy(bytesOf(dst[:whole]), recs)
	case p.bigEndian:
		for i := range dst[:whole] {
			dst[i] = binary.BigEndian.Uint64(
				eightAt(first, i*stride)[:],
			)>>up ^ flip
		}
	default:
		for i := range dst[:whole] {
			dst[i] = binary.LittleEndian.Uint64(
				eightAt(first, i*stride)[:],
			)&mask ^ flip
		}
	}
	for i := whole; i < len(dst); i++ {
		dst[i] = p.load(recs[i*stride:]) ^ flip
	}
}

// eightAt returns a pointer to the 8 bytes at offset at from first. The caller has checked that
// they exist: a check per call would double the time of a loop.
func eightAt(first unsafe.Pointer, at int) *[8]byte {
	return (*[8]byte)(unsafe.Add(first, at))
}
func fourAt(first unsafe.Pointer, at int) *[4]byte {
	return (*[4]byte)(unsafe.Add(first, at))
}

// Records rebuilds records from their keys. It is the inverse of Prefixes. REQUIRES: the layout
// IsBare, KeySize ≤ 8, len(dst) == len(keys)·RecordSize
func (k *Keyer) Records(dst []byte, keys []uint64) {
	rebuild(k, dst, keys)
}

// Records32 is Records for keys of at most 4 bytes. REQUIRES: the layout IsBare, KeySize ≤ 4,
// len(dst) == len(keys)·RecordSize
func (k *Keyer) Records32(dst []byte, keys []uint32) {
	rebuild(k, dst, keys)
}

func rebuild[T uint32 | uint64](k *Keyer, dst []byte, keys []T) {
	if !k.layout.IsBare() || k.keySize > 8 {
		panic(
			"format: only bare records of at most 8 bytes can be rebuilt from their keys",
		)
	}
	k.requireRecords(len(keys), dst)
	size := k.layout.RecordSize
	p := &k.pieces[0]

	if p.rotation|p.spread == 0 && !p.bigEndian {
		putNumbers(dst, keys, T(p.flip), size, size)
		return
	}

	var block [blockKeys]uint64
	for len(keys) > 0 {
		n := min(len(keys), blockKeys)
		for i, v := range keys[:n] {
			block[i] = uint64(v)
		}
		p.scatter(dst[:n*size], block[:n], size)
		dst = dst[n*size:]
		keys = keys[n:]
	}
}

// scatter writes the piece to consecutive records of stride bytes. It is the inverse of column,
// and overwrites numbers. REQUIRES: the piece is neither wide nor numeric nor decimal
func (p *piece) scatter(recs []byte, numbers []uint64, stride int) {
	size := p.size
	up := p.signShift & 63
	p.turnBy(numbers, -p.rotation)
	spread, flip := p.spread, p.flip
	if spread|flip != 0 {
		// the sign bit is not in spread; it has its original value after the flip is undone
		for i, v := range numbers {
			v ^= flip
			numbers[i] = v ^ uint64(int64(v<<up)>>63)&spread
		}
	}
	if p.bigEndian {
		for i, v := range numbers {
			numbers[i] = bits.ReverseBytes64(v << up)
		}
	}
	putNumbers(recs[p.start:], numbers, 0, size, stride)
}

// putNumbers writes the low size bytes of each number at intervals of stride bytes, after
// flipping some bits.
func putNumbers[T uint32 | uint64](
	dst []byte,
	numbers []T,
	flip T,
	size, stride int,
) {
	if len(numbers) == 0 {
		return
	}
	first := unsafe.Pointer(
		unsafe.SliceData(dst[:(len(numbers)-1)*stride+size]),
	)
	switch {
	case size == 8 && stride == 8 && flip == 0 && !hostBigEndian:
		copy(dst, bytesOf(numbers))
	case size == 8:
		for i, v := range numbers {
			binary.LittleEndian.PutUint64(
				eightAt(first, i*stride)[:], uint64(v^flip),
			)
		}
	case size == 4:
		for i, v := range numbers {
			binary.LittleEndian.PutUint32(
				fourAt(first, i*stride)[:], uint32(v^flip),
			)
		}
	case size == 2:
		for i, v := range numbers {
			binary.LittleEndian.PutUint16(dst[i*stride:], uint16(v^flip))
		}
	case size == 1:
		for i, v := range numbers {
			dst[i*stride] = byte(v ^ flip)
		}
	default:
		for i, v := range numbers {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], uint64(v^flip))
			copy(dst[i*stride:][:size], b[:])
		}
	}
}

func bytesOf[T uint32 | uint64](numbers []T) []byte {
	return unsafe.Slice(
		(*byte)(unsafe.Pointer(unsafe.SliceData(numbers))),
		len(numbers)*int(unsafe.Sizeof(T(0))),
	)
}
