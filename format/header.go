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

// Header is what stands before the records of a file, and what it says about them. Raw files and gensort have
// an empty one.
type Header struct {
	name      string     // of the file, for errors; "" if it was made
	container *container // nil: plain records
	layout    Layout
	size      int64 // bytes
	records   int64 // -1: not said
	dtype     string
	columns   int         // of an array of two dimensions
	begin     []byte      // of each record, if all begin alike
	isOpen    bool        // a file without vectors: their dimension is not known
	before    []byte      // what comes before the header in the output
	count     *CountField // in before; nil: it has none
}

// kind returns the row of the container of the file.
func (h *Header) kind() *container {
	if h.container == nil {
		return &plain
	}
	return h.container
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
	if h.kind() == other.kind() && h.dtype == other.dtype && h.columns == other.columns &&
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

// Encode is the header of an output that has the same kind of records, that many. Its length does not depend
// on the number, so it can be written before the number is known and be overwritten in place afterwards.
// What was given to KeepBefore comes before it.
func (h *Header) Encode(records int64) []byte {
	before := h.count.Put(h.before, records)
	if h.kind().encode == nil {
		return before
	}
	return slices.Concat(before, h.kind().encode(h, records))
}

// KeepBefore has Encode begin with b: what comes before the records, or before the header of their format, in a file
// of somebody's own. If it has a count field, Encode puts the number of records there; nil: it has none.
func (h *Header) KeepBefore(b []byte, count *CountField) { h.before, h.count = b, count }

// MaxRecords returns the greatest number of records that Encode can announce.
func (h *Header) MaxRecords() int64 {
	most := cmp.Or(h.kind().maxRecords, math.MaxInt64)
	if h.count != nil {
		return min(most, maxCount)
	}
	return most
}

// countBytes is the size of the count behind a record.
const countBytes = 8

// WithCount is the header of an output each of whose records has 8 more bytes: a little-endian count. In an npy file it
// is the field count, and the record, where it has no fields, the field value.
func (h *Header) WithCount() (*Header, error) {
	counted := *h
	counted.layout.RecordSize += countBytes
	if h.kind().withCount == nil {
		return &counted, nil
	}
	if err := h.kind().withCount(&counted); err != nil {
		return nil, fmt.Errorf("%s: %w", h.name, err)
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
		return 0, fmt.Errorf("%s: it has %d bytes, fewer than the %d of its header", name, fileBytes, h.size)
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
	hint := "the file was cut short, or is not in the format " + h.kind().Name
	if h.kind().Name == "" {
		hint = fmt.Sprintf("check %v or %v, a header (%v) or tail (%v, %v)", option.RecordSize, option.Type,
			option.SkipBytes, option.Records, option.SkipTail)
	}
	text := fmt.Sprintf("partial last record at byte %d (%d of %d bytes): %s", fileBytes-rest, rest,
		h.layout.RecordSize, hint)
	return &PartialRecordError{name, fileBytes - rest, rest, h.layout.RecordSize, text}
}

// IsOpen reports whether the size of a record is not known, as the file is empty: see AdoptLayout.
func (h *Header) IsOpen() bool { return h.isOpen }

// AdoptLayout gives the header of an empty file of vectors the layout of another file of the same format: an empty file
// has any dimension. It does nothing to other headers.
func (h *Header) AdoptLayout(other *Header) {
	if h.isOpen && !other.isOpen && h.kind() == other.kind() {
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
				return fmt.Errorf("%s: record %d (byte %d) has another dimension than the first record, %d: "+
					"is this a %s file?",
					h.name, (at+start)/size+1, at+start, binary.LittleEndian.Uint32(h.begin), h.kind().Name)
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
