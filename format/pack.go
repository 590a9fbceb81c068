package format

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/parquet-go/bitpack"
)

// A Packer encodes blocks of records column by column, with only as many bits as neighboring
// numbers need. For the key of sorted records it stores the differences between neighbors (delta
// coding: Lemire and Boytsov 2015, "Decoding billions of integers per second through
// vectorization"). For other columns it stores the difference between each number and the least
// one of its group (frame of reference: Goldstein, Ramakrishnan and Shaft 1998, "Compressing
// relations and indexes"). A Packer is immutable and safe for concurrent use.
//
// A block begins with the first key as an 8-byte number. It is divided into groups of packGroup
// records; the last group may be shorter. In each group every column consists of
//
//	width   1 byte: the number of bits per number
//	base    8 bytes: the least number; absent in the key column, which continues from the previous record
//	bits    the numbers, width bits each, the least significant first
type Packer struct {
	size int // record size in bytes
	// columns are numbers of 1, 2, 4 or 8 bytes that together cover the record. The first column
	// is the beginning of the key.
	columns []piece
}

const (
	// packGroup is the number of records that share a width. A single large number makes its
	// whole group wide.
	packGroup = 128

	// maxPackedRecord is the maximum size of packed records. In larger records, the key is only a
	// small part.
	maxPackedRecord = 128

	packHeader = 1 + 8 // maximum number of bytes before the bits of a column
	// bytes after a packed block that Unpack reads but does not use
	packPadding = bitpack.PaddingInt64
)

var errNotPacked = errors.New("unpack block: it is damaged")

// NewPacker returns the Packer for records of a layout, or nil if packing them is not worthwhile.
func NewPacker(l Layout) *Packer {
	if hostBigEndian || l.RecordSize > maxPackedRecord {
		return nil
	}
	p := &Packer{size: l.RecordSize}
	key := l.Key[0].invertible()
	n := columnBytes(min(key.Type.Size, key.Type.pieceBytes()))
	first := newPiece(key, 0, n)
	p.columns = append(p.columns, first)
	p.cover(0, first.start)
	p.cover(first.start+n, l.RecordSize)
	return p
}

// invertible returns a field whose first piece can be converted back to bytes of the record and
// has nearly the order of f.
func (f Field) invertible() Field {
	f.Numeric = false
	if f.Type.IsDecimal() { // in the order of its bytes
		f.Type = Type{Kind: Bytes, Size: f.Type.Size}
	}
	if f.Type.Kind != Extended {
		return f
	}
	first := min(f.Type.Place(0), f.Type.Place(7))
	asDouble := Type{
		Kind:      Float,
		Size:      8,
		BigEndian: f.Type.BigEndian,
	}
	return Field{
		Offset: f.Offset + first,
		Type:   asDouble,
		Desc:   f.Desc,
	}
}

// columnBytes returns the width of the widest column that fits into n bytes.
func columnBytes(n int) int {
	return 1 << (bits.Len(uint(min(n, 8))) - 1)
}

// cover adds columns for the bytes [from, to) of a record. Their numbers are treated as signed,
// so that small positive and negative numbers are close to each other.
func (p *Packer) cover(from, to int) {
	for from < to {
		n := columnBytes(to - from)
		p.columns = append(p.columns, newPiece(Field{
			Offset: from,
			Type:   Type{Kind: Signed, Size: n},
		}, 0, n))
		from += n
	}
}

// Columns returns how many numbers of each record are packed.
func (p *Packer) Columns() int { return len(p.columns) }

// Keeps estimates the compressed size of a sorted run as a fraction of its original size.
// runRecords is the number of records in the run. The estimate assumes evenly distributed keys
// and random other columns.
func (p *Packer) Keeps(runRecords float64) float64 {
	record := float64(8 * p.size)
	key := float64(8 * p.columns[0].size)
	width := max(key-math.Log2(max(runRecords, 1))+widthOverMean, 0)
	headers := 1 + float64(packHeader*(len(p.columns)-1)) // in bytes
	return min((min(width, key)+8*headers/packGroup+record-key)/record, 1)
}

// widthOverMean is the number of bits that the widest of packGroup differences needs in excess of
// their mean. The greatest of 128 exponentially distributed differences is 5.4 times the mean,
// whose number of bits is rounded down, on average.
const widthOverMean = 2.1

// maxPackHeaders returns the maximum number of bytes that Pack adds to n bytes of records of any
// layout: the first key, the headers, and the partial byte at the end of each column. A record
// has at most as many columns as bytes, and at most 21.
func maxPackHeaders(n int) int {
	return 8 + (packHeader+1)*(n/packGroup+21)
}

// Pack encodes records into dst and returns the encoded part of dst. Unsorted records may become
// larger. REQUIRES: len(dst) ≥ MaxCompressed(len(recs), Delta); recs contains whole records; dst
// and recs do not overlap
func (p *Packer) Pack(dst, recs []byte) []byte {
	var memory [packGroup]uint64
	if len(recs) == 0 {
		return dst[:0]
	}
	p.columns[0].column(memory[:1], recs[:p.size], p.size)
	out := 8
	last := memory[0]
	binary.LittleEndian.PutUint64(dst, last)
	for len(recs) > 0 {
		numbers := memory[:min(len(recs)/p.size, packGroup)]
		for c := range p.columns {
			p.columns[c].column(numbers, recs, p.size)
			var all, base uint64
			header := 1
			if c == 0 {
				last, all = subtractNeighbors(numbers, last, p.columns[c].mask)
			} else {
				header = packHeader
				base, all = subtractLeast(numbers)
				binary.LittleEndian.PutUint64(dst[out+1:], base)
			}
			width := uint(bits.Len64(all))
			dst[out] = byte(width)
			if out += header; width > 0 {
				bitpack.Pack(dst[out:], numbers, width)
				out += bitpack.ByteCount(width * uint(len(numbers)))
			}
		}
		recs = recs[len(numbers)*p.size:]
	}
	return dst[:out]
}

// subtractNeighbors replaces each number by its difference from its predecessor, modulo mask + 1.
// The predecessor of the first number is last. It returns the last number, and the bits that are
// set in any difference.
func subtractNeighbors(
	numbers []uint64, last, mask uint64,
) (newLast, all uint64) {
	for i, v := range numbers {
		d := (v - last) & mask
		numbers[i] = d
		all |= d
		last = v
	}
	return last, all
}

// subtractLeast subtracts the least number from all. It returns this number, and the bits that
// are set in any difference.
func subtractLeast(numbers []uint64) (least, all uint64) {
	least = ^uint64(0)
	for _, v := range numbers {
		least = min(least, v)
	}
	for i, v := range numbers {
		d := v - least
		numbers[i] = d
		all |= d
	}
	return least, all
}

// Unpack is the inverse of Pack: it fills dst with the original number of records. A truncated
// block is an error. REQUIRES: cap(src) ≥ len(src) + packPadding, len(dst) is a multiple of the
// record size
func (p *Packer) Unpack(dst, src []byte) error {
	var memory [packGroup]uint64
	if len(dst) == 0 && len(src) == 0 {
		return nil
	}
	if len(src) < 8 {
		return errNotPacked
	}
	in := 8
	last := binary.LittleEndian.Uint64(src)
	for len(dst) > 0 {
		numbers := memory[:min(len(dst)/p.size, packGroup)]
		for c := range p.columns {
			header := packHeader
			if c == 0 {
				header = 1
			}
			if len(src)-in < header {
				return errNotPacked
			}
			width := uint(src[in])
			bitsAt := in + header
			end := bitsAt + bitpack.ByteCount(width*uint(len(numbers)))
			if width > 64 || end > len(src) {
				return errNotPacked
			}
			if width == 0 {
				clear(numbers)
			} else {
				bitpack.Unpack(numbers, src[bitsAt:end+packPadding], width)
			}
			if c == 0 {
				last = addNeighbors(numbers, last)
			} else {
				base := binary.LittleEndian.Uint64(src[in+1:])
				for i := range numbers {
					numbers[i] += base
				}
			}
			p.columns[c].scatter(dst, numbers, p.size)
			in = end
		}
		dst = dst[len(numbers)*p.size:]
	}
	if in != len(src) {
		return errNotPacked
	}
	return nil
}

// addNeighbors is the inverse of subtractNeighbors, except for the bits above the mask.
func addNeighbors(numbers []uint64, last uint64) uint64 {
	for i, d := range numbers {
		last += d
		numbers[i] = last
	}
	return last
}
