package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/extsort/extsort/internal/option"
)

// A file of vectors, as used for nearest-neighbor search (corpus-texmex.irisa.fr):
//
//	00  dimension  i32le     D, the same for each vector
//	04  values     D × type  f32le of fvecs, i32le of ivecs, u8 of bvecs
//	..  the next vector
const vecsDimension = 4 // in bytes

// vecs returns the container of such vectors with values of type t.
func vecs(name string, t Type) *container {
	v := vecsFormat{name, t}
	return &container{
		Container: Container{
			Name:      name,
			About:     "vectors, each after its dimension",
			HasFields: true,
		},
		check: func(s Spec) []error {
			return exclusion(
				s.Type != "",
				option.Format,
				" %s excludes %v: it defines the values",
				name,
				option.Type,
			)
		},
		read: v.read,
		withAppended: func(h *Header, _ []Column) error {
			return fmt.Errorf(
				"a %s file has only vectors and no room for counts or results: use %v %d %v "+
					"OFFSET:TYPE",
				name, option.RecordSize, h.layout.RecordSize, option.Keys,
			)
		},
	}
}

type vecsFormat struct {
	name  string
	value Type
}

// read takes the dimension from the first vector. Header.FirstBytes returns these bytes. An empty file
// has no vectors and is compatible with any dimension.
func (v vecsFormat) read(s Spec, r io.Reader) (*Header, error) {
	dimension := make([]byte, vecsDimension)
	read, err := io.ReadFull(r, dimension)
	if err == io.EOF && read == 0 {
		least := s.leastDimension(vecsDimension, v.value)
		layout, err := v.layout(s, least)
		return &Header{
			layout:  layout,
			records: -1,
			isOpen:  true,
		}, err
	}

	if err != nil {
		return nil, partError(
			err,
			read,
			len(dimension),
			"the dimension of the first vector",
		)
	}
	layout, err := v.layout(
		s, int(int32(binary.LittleEndian.Uint32(dimension))),
	)
	return &Header{
		layout:  layout,
		records: -1,
		begin:   dimension,
		fields:  vectorColumns(vecsDimension, layout.RecordSize, v.value),
	}, err
}

// vectorColumns returns the columns of records that consist of some bytes followed by a vector.
func vectorColumns(before, recordSize int, value Type) []Column {
	dimension := (recordSize - before) / value.Size
	if dimension < 1 {
		return nil
	}
	return vectorArray(before, dimension, value).columnsOf()
}

// layout returns the layout of vectors of the given dimension.
func (v vecsFormat) layout(s Spec, dimension int) (Layout, error) {
	most := (MaxRecordSize - vecsDimension) / v.value.Size
	if dimension < 1 ||
		dimension > most {
		return Layout{}, fmt.Errorf(
			"a dimension of %d at byte 0 is impossible (1 to %d): is this a %s file?",
			dimension, most, v.name,
		)
	}
	return vectorArray(vecsDimension, dimension, v.value).columnLayout(s)
}

// vectorArray describes records that consist of some bytes followed by a vector.
func vectorArray(before, dimension int, value Type) *Array {
	first := ArrayField{Field: Field{Offset: before, Type: value}}
	return &Array{
		RecordSize: before + dimension*value.Size,
		Columns:    dimension,
		Fields:     []ArrayField{first},
	}
}

// leastDimension returns the least dimension of vectors that contain all keys.
func (s Spec) leastDimension(before int, value Type) int {
	least := 1
	for _, key := range s.Keys {
		column, _, _ := strings.Cut(key, ":")
		if field, err := ParseField(key); err == nil {
			values := field.Offset + field.Type.Size - before
			least = max(least, (values+value.Size-1)/value.Size)
			continue
		}
		if number, err := strconv.Atoi(column); err == nil {
			least = max(least, number+1)
		}
	}

	return min(least, (MaxRecordSize-before)/value.Size)
}
