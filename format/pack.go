package format

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/parquet-go/bitpack"
)

// Packer codes blocks of records column by column, in no more bits than the numbers near each other need. Of the key
// of sorted records only the differences between neighbours are kept (delta coding: Lemire and Boytsov 2015, "Decoding
// billions of integers per second through vectorization"), of other columns how far each number is above the least
// near it (frame of reference: Goldstein, Ramakrishnan and Shaft 1998, "Compressing relations and indexes"). A Packer
// is immutable and safe for concurrent use.
//
// A block begins with the number of its first key, in 8 bytes. It is cut into groups of packGroup records, the last of
// which may be shorter. In each group every column has
//
//	width   1 byte: the bits of each number
//	base    8 bytes: the least number; the column of the key has none, but goes on from the record before
//	bits    the numbers, each in width bits, the least significant first
type Packer struct {
	size    int     // bytes of a record
	columns []piece // numbers of 1, 2, 4 or 8 bytes, which together are the record; the first one begins the key
}

const (
	// packGroup is how many records share a width. One large number makes all of its group wide.
	packGroup = 128

	// maxPackedRecord is the largest record that is packed: of larger ones the key is a small part.
	maxPackedRecord = 128

	packHeader  = 1 + 8                // bytes before the bits of a column, at most
	packPadding = bitpack.PaddingInt64 // bytes behind a packed block that Unpack reads, and does not use
)

var errNotPacked = errors.New("unpack block: it is damaged")

// NewPacker is the Packer for records of a layout; nil where it is not worth its time.
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

// invertible is a field whose first piece can be turned back into bytes of the record, and has nearly the order of f.
func (f Field) invertible() Field {
	f.Numeric = false
	if f.Type.Kind != Extended {
		return f
	}
	first := min(f.Type.Place(0), f.Type.Place(7))
	asDouble := Type{Kind: Float, Size: 8, BigEndian: f.Type.BigEndian}
	return Field{Offset: f.Offset + first, Type: asDouble, Desc: f.Desc}
}

// columnBytes is the widest column in so many bytes.
func columnBytes(n int) int { return 1 << (bits.Len(uint(min(n, 8))) - 1) }

// cover makes columns of the bytes [from, to) of a record. Their numbers are taken for signed, so that those around 0
// are near each other.
func (p *Packer) cover(from, to int) {
	for from < to {
		n := columnBytes(to - from)
		p.columns = append(p.columns, newPiece(Field{Offset: from, Type: Type{Kind: Signed, Size: n}}, 0, n))
		from += n
	}
}

// Columns is how many numbers of each record are packed.
func (p *Packer) Columns() int { return len(p.columns) }

// Keeps is about what Pack leaves of a sorted run of so many records, as a part of their bytes, where keys are spread
// evenly and other columns are random.
func (p *Packer) Keeps(runRecords float64) float64 {
	record, key := float64(8*p.size), float64(8*p.columns[0].size)
	width := max(key-math.Log2(max(runRecords, 1))+widthOverMean, 0)
	headers := 1 + float64(packHeader*(len(p.columns)-1)) // bytes
	return min((min(width, key)+8*headers/packGroup+record-key)/record, 1)
}

// widthOverMean is how many bits the widest of packGroup differences has more than their mean: of 128 that are
// distributed exponentially the greatest is 5.4 times the mean; the bits of their mean are rounded down, on average.
const widthOverMean = 2.1

// maxPackHeaders bounds what Pack adds to n bytes of records of any layout: the first key, the headers, and the byte
// that the bits of a column end in. A record has no more columns than bytes, and 21 at most.
func maxPackHeaders(n int) int { return 8 + (packHeader+1)*(n/packGroup+21) }

// Pack codes records into the memory of dst and returns it. Of records that are not sorted it may make more bytes.
// REQUIRES: len(dst) ≥ MaxCompressed(len(recs), Delta); recs has whole records; dst and recs do not overlap.
func (p *Packer) Pack(dst, recs []byte) []byte {
	var memory [packGroup]uint64
	if len(recs) == 0 {
		return dst[:0]
	}
	p.columns[0].column(memory[:1], recs[:p.size], p.size)
	out, last := 8, memory[0]
	binary.LittleEndian.PutUint64(dst, last)
	for len(recs) > 0 {
		numbers := memory[:min(len(recs)/p.size, packGroup)]
		for c := range p.columns {
			p.columns[c].column(numbers, recs, p.size)
			var all, base uint64
			header := 1
			if c == 0 {
				last, all = subtractNeighbours(numbers, last, p.columns[c].mask)
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

// subtractNeighbours replaces each number by its difference to the one before, the first's to last, modulo mask + 1.
// It returns the last number and all bits that are set in a difference.
func subtractNeighbours(numbers []uint64, last, mask uint64) (newLast, all uint64) {
	for i, v := range numbers {
		d := (v - last) & mask
		numbers[i] = d
		all |= d
		last = v
	}
	return last, all
}

// subtractLeast subtracts the least of the numbers from all. It returns that and all bits that are set in a difference.
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

// Unpack is the inverse of Pack: it fills dst with as many records as Pack got. A block that is cut short is an error.
// REQUIRES: cap(src) ≥ len(src) + packPadding, len(dst) is a multiple of the record size.
func (p *Packer) Unpack(dst, src []byte) error {
	var memory [packGroup]uint64
	if len(dst) == 0 && len(src) == 0 {
		return nil
	}
	if len(src) < 8 {
		return errNotPacked
	}
	in, last := 8, binary.LittleEndian.Uint64(src)
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
			width, bitsAt := uint(src[in]), in+header
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
				last = addNeighbours(numbers, last)
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

// addNeighbours undoes subtractNeighbours, but for the bits above the mask.
func addNeighbours(numbers []uint64, last uint64) uint64 {
	for i, d := range numbers {
		last += d
		numbers[i] = last
	}
	return last
}
