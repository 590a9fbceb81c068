package format

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A file of vectors, as those that nearest neighbours are searched in (corpus-texmex.irisa.fr):
//
//	00  dimension  i32le     D, the same for each vector
//	04  values     D × type  f32le of fvecs, i32le of ivecs, u8 of bvecs
//	..  the next vector
const vecsDimension = 4 // bytes

var vecsTypes = map[string]Type{
	"fvecs": {Kind: Float, Size: 4},
	"ivecs": {Kind: Signed, Size: 4},
	"bvecs": {Kind: Unsigned, Size: 1},
}

// readVecs takes the dimension from the first vector. Header.Begun gives it back.
func (s Spec) readVecs(r io.Reader) (*Header, error) {
	dimension := make([]byte, vecsDimension)
	if err := readPart(r, dimension, "the dimension of the first vector"); err != nil {
		return nil, err
	}
	t, n := vecsTypes[s.Format], int(int32(binary.LittleEndian.Uint32(dimension)))
	if most := (MaxRecordSize - vecsDimension) / t.Size; n < 1 || n > most {
		return nil, fmt.Errorf("a dimension of %d at byte 0 cannot be, only 1 to %d: is this a %s file?", n, most, s.Format)
	}
	first := ArrayField{Field: Field{Offset: vecsDimension, Type: t}}
	vectors := Array{RecordSize: vecsDimension + n*t.Size, Columns: n, Fields: []ArrayField{first}}
	layout, err := vectors.columnLayout(s)
	return &Header{format: s.Format, layout: layout, records: -1, begin: dimension}, err
}

// Begun is the beginning of the first record, where ReadHeader had to read it.
func (h *Header) Begun() []byte { return h.begin }

// CheckRecords reports, in bytes of records that stand at a place behind the header, a vector of another dimension than
// the first one's.
func (h *Header) CheckRecords(recs []byte, at int64) error {
	if len(h.begin) == 0 {
		return nil
	}
	size := int64(h.layout.RecordSize)
	for start := -(at % size); start < int64(len(recs)); start += size {
		for i, c := range h.begin {
			if j := start + int64(i); j >= 0 && j < int64(len(recs)) && recs[j] != c {
				return fmt.Errorf("%s: record %d (byte %d) does not have the dimension of the first one, %d: is this a %s file?",
					h.name, (at+start)/size+1, at+start, binary.LittleEndian.Uint32(h.begin), h.format)
			}
		}
	}
	return nil
}
