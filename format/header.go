package format

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/internal/option"
)

// Header is what stands before the records of a file, and what it says about them. Raw files and gensort have
// an empty one.
type Header struct {
	name    string // of the file, for errors; "" if it was made
	format  string // as in Spec
	layout  Layout
	size    int64 // bytes
	records int64 // -1: not said
	dtype   string
	columns int         // of an array of two dimensions
	begin   []byte      // of each record, if all begin alike
	isOpen  bool        // a file without vectors: their dimension is not known
	before  []byte      // what comes before the header in the output
	count   *CountField // in before; nil: it has none
}

// Layout is the layout of the records.
func (h *Header) Layout() Layout { return h.layout }

// Size is the number of bytes before the first record.
func (h *Header) Size() int64 { return h.size }

// Records is the number of records that the header announces, or -1 if it announces none.
func (h *Header) Records() int64 { return h.records }

// Compatible reports, as an error that names both files, why the records of two inputs cannot go into one
// output.
func (h *Header) Compatible(other *Header) error {
	if h.format == other.format && h.dtype == other.dtype && h.columns == other.columns &&
		h.layout.String() == other.layout.String() {
		return nil
	}
	return fmt.Errorf("%s has %s, but %s has %s: files that are sorted together need the same records",
		h.name, h.describe(), other.name, other.describe())
}

func (h *Header) describe() string {
	switch {
	case h.columns > 0:
		return fmt.Sprintf("dtype %s in %d columns", h.dtype, h.columns)
	case h.dtype != "":
		return "dtype " + h.dtype
	}
	return h.layout.String()
}

// Encode is the header of an output that has the same kind of records, that many. Its length does not depend
// on the number, so it can be written before the number is known and be overwritten in place afterwards.
// What was given to KeepBefore comes before it.
func (h *Header) Encode(records int64) []byte {
	before := h.count.Put(h.before, records)
	switch h.format {
	case "npy":
		return slices.Concat(before, encodeNpy(h.dtype, records, h.columns))
	case "sosd":
		return binary.LittleEndian.AppendUint64(slices.Clone(before), uint64(records))
	}
	return before
}

// KeepBefore has Encode begin with b: what comes before the records, or before the header of their format, in a file
// of somebody's own. If it has a count field, Encode puts the number of records there; nil: it has none.
func (h *Header) KeepBefore(b []byte, count *CountField) { h.before, h.count = b, count }

// MaxRecords returns the greatest number of records that Encode can announce.
func (h *Header) MaxRecords() int64 {
	if h.count != nil {
		return MaxCount
	}
	return math.MaxInt64
}

// WithCount is the header of an output each of whose records has 8 more bytes: a little-endian count. In an npy file it
// is the field count, and the record, where it has no fields, the field value.
func (h *Header) WithCount() (*Header, error) {
	counted := *h
	counted.layout.RecordSize += 8
	switch h.format {
	case "sosd":
		return nil, fmt.Errorf("%s: a sosd file has bare keys, and no place for counts: sort it by %v, "+
			"with %v 8", h.name, option.Type, option.SkipBytes)
	case "fvecs", "ivecs", "bvecs":
		return nil, fmt.Errorf("%s: a %s file has vectors alone, and no place for counts: sort it by %v %d "+
			"%v OFFSET:TYPE", h.name, h.format, option.RecordSize, h.layout.RecordSize, option.Keys)
	case "npy":
		dtype, err := countedDtype(h.dtype, h.columns)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.name, err)
		}
		counted.dtype, counted.columns = dtype, 0
	}
	return &counted, nil
}

// CheckSize is the number of records in a file of fileBytes bytes, header included, with the name and header
// given. It reports a file that ends within the header or within a record, or that does not have the records
// that its header announces.
func CheckSize(name string, h *Header, fileBytes int64) (records int64, err error) {
	size := int64(h.layout.RecordSize)
	data := fileBytes - h.size
	if data < 0 {
		return 0, fmt.Errorf("%s: it has %d bytes, fewer than its header of %d", name, fileBytes, h.size)
	}
	if rest := data % size; rest != 0 {
		return 0, h.partial(name, fileBytes, rest)
	}
	records = data / size
	if h.records < 0 || h.records == records {
		return records, nil
	}
	hint := "the file was cut short"
	if records > h.records {
		hint = "something was appended to the file, or the type is wrong"
	}
	return 0, fmt.Errorf("%s: the header announces %d records of %d bytes, but %d follow: %s",
		name, h.records, size, records, hint)
}

// PartialRecordError says that an input ends within a record: it was cut short, or the record size is wrong.
type PartialRecordError struct {
	File       string
	Byte       int64 // where the partial record begins (decompressed), from 0 behind the bytes that are skipped
	Bytes      int64 // how many it has
	RecordSize int

	Text string // what is wrong, and what may be the cause
}

func (e *PartialRecordError) Error() string { return e.File + ": " + e.Text }

// partial is the error of a file that ends with a part of a record, with what may be the cause.
func (h *Header) partial(name string, fileBytes, rest int64) error {
	after, hint := "", "the file was cut short, or is no "+h.format+" file"
	if h.size > 0 {
		after = fmt.Sprintf(" after the header of %d", h.size)
	}
	if h.format == "" {
		hint = fmt.Sprintf("check %v or %v, a header (%v) or tail (%v, %v), or it was cut short", option.RecordSize,
			option.Type, option.SkipBytes, option.Records, option.SkipTail)
	}
	return &PartialRecordError{name, fileBytes - rest, rest, h.layout.RecordSize, fmt.Sprintf(
		"partial last record at byte %d: %d bytes%s are not a multiple of the record size %d (remainder %d); %s",
		fileBytes-rest, fileBytes-h.size, after, h.layout.RecordSize, rest, hint)}
}

// A SOSD file (Kipf et al., SOSD: A Benchmark for Learned Indexes, 2019):
//
//	00  count  u64le   number of keys
//	08  keys   count × u32le or u64le
const sosdHeaderSize = 8

func (s Spec) newSosd(records int64) *Header {
	t, _ := ParseType(s.Type) // Validate has checked it
	return &Header{format: "sosd", layout: Bare(t), size: sosdHeaderSize, records: records}
}

func (s Spec) readSosd(r io.Reader) (*Header, error) {
	var b [sosdHeaderSize]byte
	if err := readPart(r, b[:], "the key count"); err != nil {
		return nil, err
	}
	count := binary.LittleEndian.Uint64(b[:])
	if count > math.MaxInt64/8 {
		return nil, fmt.Errorf("a count of %d keys at byte 0 cannot be: is this a sosd file?", count)
	}
	return s.newSosd(int64(count)), nil
}

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

// readVecs takes the dimension from the first vector. Header.Begun returns it. An empty file has no vectors, and so any
// dimension.
func (s Spec) readVecs(r io.Reader) (*Header, error) {
	dimension := make([]byte, vecsDimension)
	read, err := io.ReadFull(r, dimension)
	if err == io.EOF && read == 0 {
		layout, err := s.vecsLayout(s.leastDimension())
		return &Header{format: s.Format, layout: layout, records: -1, isOpen: true}, err
	}
	if err != nil {
		return nil, partError(err, read, len(dimension), "the dimension of the first vector")
	}
	layout, err := s.vecsLayout(int(int32(binary.LittleEndian.Uint32(dimension))))
	return &Header{format: s.Format, layout: layout, records: -1, begin: dimension}, err
}

// vecsLayout is the layout of vectors of a dimension.
func (s Spec) vecsLayout(dimension int) (Layout, error) {
	t := vecsTypes[s.Format]
	if most := (MaxRecordSize - vecsDimension) / t.Size; dimension < 1 || dimension > most {
		return Layout{}, fmt.Errorf("a dimension of %d at byte 0 cannot be, only 1 to %d: is this a %s file?",
			dimension, most, s.Format)
	}
	first := ArrayField{Field: Field{Offset: vecsDimension, Type: t}}
	vectors := Array{RecordSize: vecsDimension + dimension*t.Size, Columns: dimension, Fields: []ArrayField{first}}
	return vectors.columnLayout(s)
}

// leastDimension is the least that vectors must have for all keys to lie within them.
func (s Spec) leastDimension() int {
	least := 1
	size := vecsTypes[s.Format].Size
	for _, key := range s.Keys {
		column, _, _ := strings.Cut(key, ":")
		if field, err := ParseField(key); err == nil {
			values := field.Offset + field.Type.Size - vecsDimension
			least = max(least, (values+size-1)/size)
			continue
		}
		if number, err := strconv.Atoi(column); err == nil {
			least = max(least, number+1)
		}
	}
	return min(least, (MaxRecordSize-vecsDimension)/size)
}

// IsOpen reports whether the size of a record is not known, as the file is empty: see AdoptLayout.
func (h *Header) IsOpen() bool { return h.isOpen }

// AdoptLayout gives the header of an empty file of vectors the layout of another file of the same format: an empty file
// has any dimension. It does nothing to other headers.
func (h *Header) AdoptLayout(other *Header) {
	if h.isOpen && !other.isOpen && h.format == other.format {
		h.layout, h.isOpen = other.layout, false
	}
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

// readPart fills b, a part of a header.
func readPart(r io.Reader, b []byte, what string) error {
	n, err := io.ReadFull(r, b)
	return partError(err, n, len(b), what)
}

// partError is the error of a file that ends after some of the bytes of a part of its header, or another error as it
// is.
func partError(err error, read, size int, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the file ends after %d of the %d bytes of %s: %w", read, size, what, io.ErrUnexpectedEOF)
	}
	return err
}
