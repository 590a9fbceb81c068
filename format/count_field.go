package format

import (
	"encoding/binary"
	"math"
	"slices"
)

// A CountField is the place in the bytes before the records where a file stores the number of
// records.
type CountField struct {
	offset int // offset of its 4 bytes
	order  binary.ByteOrder
}

// maxCount is the maximum number of records that a CountField can store.
const maxCount = math.MaxUint32

// Put returns a copy of b, the bytes before the records, with another number in the field. If c
// is nil, it returns b.
func (c *CountField) Put(b []byte, records int64) []byte {
	if c == nil {
		return b
	}
	b = slices.Clone(b)
	c.order.PutUint32(b[c.offset:], uint32(records))
	return b
}

// FindCount returns the count field of a header of a known kind, or nil. The header precedes
// records of recordSize bytes in a file with the given name. records is their number, or negative
// if it is not known yet.
func FindCount(
	header []byte,
	recordSize int,
	records int64,
	name string,
) *CountField {
	for _, find := range []func([]byte, int, int64, string) *CountField{findIDX, findVectors} {
		field := find(header, recordSize, records, name)
		if field != nil {
			return field
		}
	}
	return nil
}

// The header of an IDX file, the format of the MNIST data set:
//
//	00  zeros  2 bytes
//	02  type   08 … 0e
//	03  D      number of dimensions
//	04  sizes  D × u32be; the first is the number of records
var idxTypeBytes = map[byte]int64{
	0x08: 1,
	0x09: 1,
	0x0b: 2,
	0x0c: 4,
	0x0d: 4,
	0x0e: 8,
}

func findIDX(
	header []byte,
	recordSize int,
	records int64,
	_ string,
) *CountField {
	if len(header) < 8 || header[0]|header[1] != 0 ||
		len(header) != 4+4*int(header[3]) {
		return nil
	}
	size := idxTypeBytes[header[2]]
	for at := 8; at < len(header) && size <= MaxRecordSize; at += 4 {
		size *= int64(binary.BigEndian.Uint32(header[at:]))
	}
	count := int64(binary.BigEndian.Uint32(header[4:]))
	if size == 0 || size != int64(recordSize) ||
		records >= 0 && records != count {
		return nil
	}
	return &CountField{offset: 4, order: binary.BigEndian}
}
