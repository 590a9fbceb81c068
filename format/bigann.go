package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/extsort/extsort/internal/option"
)

// A file of vectors, as in the benchmarks for billion-scale nearest-neighbor search
// (big-ann-benchmarks.com). Only the suffix of the file name determines the type of the values,
// so each type is a container of its own, named after its suffix.
//
//	00  count      u32le  N, the number of vectors
//	04  dimension  u32le  D
//	08  values     N × D × type: f32le of fbin, u8 of u8bin, i8 of i8bin, i32le of ibin
const bigannHeaderSize = 8

var bigannFormats = []vecsFormat{
	{"fbin", Type{Kind: Float, Size: 4}},
	{"u8bin", Type{Kind: Unsigned, Size: 1}},
	{"i8bin", Type{Kind: Signed, Size: 1}},
	{"ibin", Type{Kind: Signed, Size: 4}},
}

// bigann returns the container for one type of vectors.
func bigann(v vecsFormat) *container {
	b := bigannFormat{v}
	return &container{
		Container: Container{
			Name:        v.name,
			About:       "count, dimension, then vectors",
			Title:       "vectors with a count and dimension",
			ListsFields: true,
			HasFields:   true,
			HasCount:    true,
		},
		counts: fmt.Sprintf(
			"the number and the dimension of the vectors after them, as in .%s files", v.name,
		),
		guess: b.guess,
		check: func(s Spec) []error {
			return exclusion(
				s.Type != "",
				option.Format,
				" %s excludes %v: it says what the values are",
				v.name,
				option.Type,
			)
		},
		read:     b.read,
		create:   b.create,
		describe: b.describe,
		encode:   b.encode,
		withAppended: func(h *Header, _ []Column) error {
			return fmt.Errorf(
				"a %s file has only vectors and no room for counts or results: use %v %d %v %d %v OFFSET:TYPE",
				v.name, option.SkipBytes, bigannHeaderSize, option.RecordSize,
				h.layout.RecordSize, option.Keys,
			)
		},
		maxRecords: math.MaxUint32,
		hasSize:    true,
	}
}

type bigannFormat struct{ vecsFormat }

// read reads a header. It accepts a file without vectors whose dimension is 0; such a file is
// compatible with any dimension.
func (b bigannFormat) read(s Spec, r io.Reader) (*Header, error) {
	count, dimension, err := readBigann(r)
	if err != nil {
		return nil, err
	}
	h := &Header{
		size:    bigannHeaderSize,
		records: count,
		isOpen:  count == 0 && dimension == 0,
	}
	if h.isOpen {
		dimension = int64(s.leastDimension(0, b.value))
	}
	h.layout, err = b.layout(s, dimension)
	h.fields = vectorColumns(0, h.layout.RecordSize, b.value)
	if err == nil && !h.isOpen && s.RecordSize > 0 &&
		s.RecordSize != h.layout.RecordSize {
		err = fmt.Errorf(
			"its vectors have %d bytes, not %v %d: leave %v out", h.layout.RecordSize,
			option.RecordSize, s.RecordSize, option.RecordSize,
		)
	}
	return h, err
}

func readBigann(r io.Reader) (count, dimension int64, err error) {
	var header [bigannHeaderSize]byte
	err = readPart(r, header[:], "the number and the dimension of the vectors")
	count = int64(binary.LittleEndian.Uint32(header[:]))
	dimension = int64(binary.LittleEndian.Uint32(header[4:]))
	return count, dimension, err
}

// array describes vectors of the given dimension.
func (b bigannFormat) array(dimension int64) (*Array, error) {
	most := int64(MaxRecordSize / b.value.Size)
	if dimension < 1 ||
		dimension > most {
		return nil, fmt.Errorf(
			"a dimension of %d at byte 4 is impossible (1 to %d): is this a %s file?",
			dimension, most, b.name,
		)
	}
	return vectorArray(0, int(dimension), b.value), nil
}

func (b bigannFormat) layout(s Spec, dimension int64) (Layout, error) {
	a, err := b.array(dimension)
	if err != nil {
		return Layout{}, err
	}
	return a.columnLayout(s)
}

// create derives the dimension from the size of a vector.
func (b bigannFormat) create(s Spec) (*Header, error) {
	if s.RecordSize == 0 || s.RecordSize%b.value.Size != 0 {
		return nil, option.Errorf(
			option.Format,
			" %s needs the size of the vectors to generate: add %v BYTES, %d for each "+
				"component",
			b.name, option.RecordSize, b.value.Size,
		)
	}
	layout, err := b.layout(s, int64(s.RecordSize/b.value.Size))
	return &Header{
		layout:  layout,
		size:    bigannHeaderSize,
		records: -1,
		fields:  vectorColumns(0, layout.RecordSize, b.value),
	}, err
}

func (b bigannFormat) describe(r io.Reader) (*Array, error) {
	count, dimension, err := readBigann(r)
	if err != nil {
		return nil, err
	}
	a, err := b.array(dimension)
	if err != nil {
		return nil, err
	}
	a.Records = count
	a.HeaderBytes = bigannHeaderSize
	return a, nil
}

func (b bigannFormat) encode(h *Header, records int64) []byte {
	dimension := h.layout.RecordSize / b.value.Size
	if h.isOpen {
		dimension = 0
	}
	header := binary.LittleEndian.AppendUint32(nil, uint32(records))
	return binary.LittleEndian.AppendUint32(header, uint32(dimension))
}

// guess recognizes a file whose size matches its first bytes. The type of the values must match
// the suffix of the name, or must have been given.
func (b bigannFormat) guess(f file) (s Spec, ok bool) {
	if len(f.first) < bigannHeaderSize {
		return Spec{}, false
	}
	count := int64(binary.LittleEndian.Uint32(f.first))
	dimension := int64(binary.LittleEndian.Uint32(f.first[4:]))
	size := dimension * int64(b.value.Size)
	if count == 0 || dimension == 0 || size > MaxRecordSize ||
		f.bytes != bigannHeaderSize+count*size {
		return Spec{}, false
	}

	isNamed := fileSuffix(f.name) == "."+b.name
	given, err := ParseType(f.description.Type)
	isTyped := err == nil && given == b.value

	switch {
	case f.description.RecordSize > 0:
		ok = isNamed && int64(f.description.RecordSize) == size
	case f.description.Type != "":
		ok = isTyped
	default:
		ok = isNamed
	}

	return Spec{Format: b.name}, ok
}

// findVectors returns the count field of such a header before plain records, if the suffix of the
// file name indicates one.
func findVectors(
	header []byte,
	recordSize int,
	records int64,
	name string,
) *CountField {
	at := slices.IndexFunc(bigannFormats, func(v vecsFormat) bool {
		return fileSuffix(name) == "."+v.name
	})
	if at < 0 || len(header) != bigannHeaderSize {
		return nil
	}
	count := binary.LittleEndian.Uint32(header)
	dimension := binary.LittleEndian.Uint32(header[4:])
	fits := dimension > 0 &&
		int64(
			bigannFormats[at].value.Size,
		)*int64(dimension) == int64(recordSize)
	if !fits || records >= 0 && records != int64(count) {
		return nil
	}
	return &CountField{offset: 0, order: binary.LittleEndian}
}
