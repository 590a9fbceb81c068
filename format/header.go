package format

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/extsort/extsort/internal/option"
)

// A Header consists of the bytes before the records of a file and their meaning. Raw files and
// gensort have an empty header.
type Header struct {
	name      string     // of the file, for errors; "" if the header was created
	container *container // nil for plain records
	layout    Layout
	size      int64 // in bytes
	records   int64 // -1 if not announced
	dtype     string
	columns   int         // of a two-dimensional array
	fields    []Column    // the fields that have names; see Columns
	begin     []byte      // beginning of each record, if all records begin alike
	isOpen    bool        // a file without vectors, whose dimension is not known
	before    []byte      // bytes before the header in the output
	count     *CountField // in before; nil if none exists
}

// kind returns the row of the file's container.
func (h *Header) kind() *container {
	if h.container == nil {
		return &plain
	}
	return h.container
}

// Layout returns the layout of the records.
func (h *Header) Layout() Layout { return h.layout }

// Size returns the number of bytes before the first record.
func (h *Header) Size() int64 { return h.size }

// Records returns the number of records that the header announces, or -1 if it announces none.
func (h *Header) Records() int64 { return h.records }

// Compatible returns an error that names both files if the records of two inputs cannot be
// combined in one output.
func (h *Header) Compatible(other *Header) error {
	if h.kind() == other.kind() && h.dtype == other.dtype &&
		h.columns == other.columns &&
		h.layout.String() == other.layout.String() {
		return nil
	}
	return fmt.Errorf("%s has %s, but %s has %s: all inputs must have the same records",
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

// Encode returns the header of an output with the same kind of records and the given number of
// records. Its length does not depend on the number. So it can be written before the number is
// known and be overwritten later. It includes the bytes of KeepBefore.
func (h *Header) Encode(records int64) []byte {
	before := h.count.Put(h.before, records)
	if h.kind().encode == nil {
		return before
	}
	return slices.Concat(before, h.kind().encode(h, records))
}

// KeepBefore makes Encode begin with b: the bytes before the records, or before the header of
// their format, in a foreign file format. If count is not nil, Encode updates that field.
func (h *Header) KeepBefore(b []byte, count *CountField) {
	h.before = b
	h.count = count
}

// MaxRecords returns the maximum number of records that Encode can announce.
func (h *Header) MaxRecords() int64 {
	most := cmp.Or(h.kind().maxRecords, math.MaxInt64)
	if h.count != nil {
		return min(most, maxCount)
	}
	return most
}

// countBytes is the size of the count after a record: a little-endian u64.
const countBytes = 8

// WithAppended returns the header of an output whose records are followed by other columns. In an
// npy file these are fields, and a record without fields becomes the field value.
func (h *Header) WithAppended(columns []Column) (*Header, error) {
	longer := *h
	if len(columns) == 0 {
		return &longer, nil
	}
	if h.kind().withAppended != nil {
		if err := h.kind().withAppended(&longer, columns); err != nil {
			return nil, fmt.Errorf("%s: %w", h.name, err)
		}
	}
	for _, c := range columns {
		longer.layout.RecordSize += c.Type.Size
	}
	return &longer, nil
}

// CheckSize returns the number of records in a file of fileBytes bytes, including the header. It
// returns an error if the file ends within the header or within a record, or if the number of
// records is not the announced one.
func CheckSize(
	name string,
	h *Header,
	fileBytes int64,
) (records int64, err error) {
	size := int64(h.layout.RecordSize)
	data := fileBytes - h.size
	if data < 0 {
		return 0, fmt.Errorf(
			"%s: it has %d bytes, fewer than the %d of its header", name, fileBytes, h.size,
		)
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

// A PartialRecordError reports that an input ends within a record, because it was truncated or
// the record size is wrong.
type PartialRecordError struct {
	File       string
	Byte       int64 // offset of the partial record after decompression and skipped bytes
	Bytes      int64 // size of the partial record
	RecordSize int

	Text string // the problem and its possible causes
}

func (e *PartialRecordError) Error() string {
	return e.File + ": " + e.Text
}

// partial returns the error for a file that ends with a partial record.
func (h *Header) partial(name string, fileBytes, rest int64) error {
	hint := "the file was cut short, or is not in the format " + h.kind().Name
	if h.kind().Name == "" {
		hint = fmt.Sprintf(
			"check %v or %v, a header (%v) or tail (%v, %v)", option.RecordSize, option.Type,
			option.SkipBytes, option.Records, option.SkipTail,
		)
	}
	text := fmt.Sprintf("partial last record at byte %d (%d of %d bytes): %s", fileBytes-rest, rest,
		h.layout.RecordSize, hint)
	return &PartialRecordError{name, fileBytes - rest, rest, h.layout.RecordSize, text}
}

// IsOpen reports whether the record size is unknown because the file is empty. See AdoptLayout.
func (h *Header) IsOpen() bool { return h.isOpen }

// AdoptLayout gives the header of an empty file of vectors, which is compatible with any
// dimension, the layout of another file of the same format. It does not affect other headers.
func (h *Header) AdoptLayout(other *Header) {
	if h.isOpen && !other.isOpen && h.kind() == other.kind() {
		h.layout = other.layout
		h.isOpen = false
	}
}

// FirstBytes returns the beginning of the first record, if ReadHeader had to read it.
func (h *Header) FirstBytes() []byte { return h.begin }

// CheckRecords returns an error if the bytes of records at an offset after the header contain a
// vector whose dimension differs from the first one.
func (h *Header) CheckRecords(recs []byte, at int64) error {
	if len(h.begin) == 0 {
		return nil
	}
	size := int64(h.layout.RecordSize)
	for start := -(at % size); start < int64(len(recs)); start += size {
		for i, c := range h.begin {
			j := start + int64(i)
			if j >= 0 && j < int64(len(recs)) &&
				recs[j] != c {
				return fmt.Errorf(
					"%s: record %d (byte %d) has a different dimension than the first record, %d: "+
						"is this a %s file?",
					h.name, (at+start)/size+1, at+start, binary.LittleEndian.Uint32(h.begin),
					h.kind().Name,
				)
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

// partError returns the error for a file that ends within a part of its header. It returns other
// errors unchanged.
func partError(err error, read, size int, what string) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf(
			"the file ends after %d of the %d bytes of %s: %w", read, size, what,
			io.ErrUnexpectedEOF,
		)
	}
	return err
}
