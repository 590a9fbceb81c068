package format

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/extsort/extsort/internal/option"
)

// A .npy file (numpy.lib.format, versions 1.0, 2.0 and 3.0):
//
//	00  magic    93 'N' 'U' 'M' 'P' 'Y'
//	06  version  major, minor
//	08  length   u16le, in versions 2 and 3 u32le: bytes of the header text
//	..  header   a Python literal: {'descr': '<u8', 'fortran_order': False, 'shape': (3,), }, padded by
//	             blanks and ended by a newline so that the data begins at a multiple of 64; Latin-1, in
//	             version 3 UTF-8
//	..  data
const (
	npyMagic     = "\x93NUMPY"
	npyAlignment = 64
	// npyMaxHeader limits the text in bytes. Parsing needs 50 times as much memory. NumPy itself
	// warns from 10000 on.
	npyMaxHeader = 1 << 17
	// npyCountWidth is the space for the count. NumPy reserves the same, so that it can append in
	// place.
	npyCountWidth = 21
)

var npy = container{
	Container: Container{
		Name:        "npy",
		About:       "NumPy array",
		Title:       "NumPy array",
		Magic:       npyMagic,
		IsArray:     true,
		ListsFields: true,
		HasFields:   true,
		HasCount:    true,
	},
	found:    "a NumPy array",
	advice:   func() string { return fmt.Sprintf("%v npy", option.Format) },
	check:    Spec.checkNpy,
	read:     Spec.readNpy,
	create:   Spec.newNpy,
	describe: readNpyArray,
	encode: func(h *Header, records int64) []byte {
		return encodeNpy(h.dtype, records, h.columns)
	},
	withAppended: appendNpy,
}

func (s Spec) checkNpy() []error {
	return exclusion(s.Type != "" &&
		len(s.Keys) > 0, option.Type, " and %v cannot be combined: leave one out",
		option.Keys)
}

// appendNpy adds fields to the records. Records without fields become a field value.
func appendNpy(h *Header, columns []Column) error {
	dtype, err := appendedDtype(h.dtype, h.columns, columns)
	if err != nil {
		return err
	}
	h.dtype = dtype
	h.columns = 0
	return nil
}

func (s Spec) readNpy(r io.Reader) (*Header, error) {
	text, size, err := readNpyText(r)
	if err != nil {
		return nil, err
	}
	a, err := parseNpyText(text)
	if err != nil {
		return nil, fmt.Errorf("npy header at byte 8: %w", err)
	}
	layout, err := s.npyLayout(a)
	if err != nil {
		return nil, err
	}
	return &Header{
		layout:  layout,
		size:    size,
		records: a.Records,
		dtype:   a.DType,
		columns: a.Columns,
		fields:  a.columnsOf(),
	}, nil
}

// readNpyText reads everything before the data. It returns the text as UTF-8, and the number of
// bytes read.
func readNpyText(r io.Reader) (text string, size int64, err error) {
	var b [12]byte
	if err := readPart(r, b[:8], "the npy magic and version"); err != nil {
		return "", 0, err
	}
	if string(b[:6]) != npyMagic {
		return "", 0, fmt.Errorf("not an npy file: it begins with %q", b[:6])
	}
	major := b[6]
	if major < 1 || major > 3 || b[7] != 0 {
		return "", 0, fmt.Errorf(
			"npy version %d.%d at byte 6 is unknown: use 1.0, 2.0 or 3.0", major, b[7],
		)
	}
	lengthBytes := npyLengthBytes(major)
	if err := readPart(r, b[8:8+lengthBytes], "the npy header length"); err != nil {
		return "", 0, err
	}
	length := binary.LittleEndian.Uint32(b[8:])
	if length > npyMaxHeader {
		return "", 0, fmt.Errorf(
			"npy header length %d at byte 8 is more than %d", length, npyMaxHeader,
		)
	}
	raw := make([]byte, length)
	if err := readPart(r, raw, "the npy header"); err != nil {
		return "", 0, err
	}
	size = int64(8 + lengthBytes + len(raw))
	if major == 3 {
		if !utf8.Valid(raw) {
			return "", 0, errors.New(
				"the npy header is not UTF-8, as version 3.0 requires",
			)
		}
		return string(raw), size, nil
	}

	return fromLatin1(raw), size, nil
}

// fromLatin1 decodes ISO 8859-1, in which every byte is a code point.
func fromLatin1(raw []byte) string {
	text := make([]rune, len(raw))
	for i, b := range raw {
		text[i] = rune(b)
	}
	return string(text)
}

// toLatin1 encodes text in ISO 8859-1. ok is false if a character has no code in ISO 8859-1.
func toLatin1(text string) (raw []byte, ok bool) {
	for _, character := range text {
		if character > unicode.MaxLatin1 {
			return nil, false
		}
		raw = append(raw, byte(character))
	}
	return raw, true
}

// npyLengthBytes returns the width of the length field: 2 in version 1, otherwise 4.
func npyLengthBytes(major byte) int { return 2 * min(int(major), 2) }

func parseNpyText(text string) (*Array, error) {
	v, err := parseLiteral(text)
	if err != nil {
		return nil, err
	}
	dict, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a dictionary")
	}
	fortran, ok := dict["fortran_order"].(bool)
	if !ok {
		return nil, errors.New(
			"its 'fortran_order' is missing, or not True or False",
		)
	}
	records, columns, err := npyShape(dict["shape"])
	if err != nil {
		return nil, err
	}
	if fortran && columns > 1 {
		return nil, errors.New("the array is in Fortran order, so its rows are not contiguous: " +
			"convert it with numpy.ascontiguousarray")
	}
	descr, ok := dict["descr"]
	if !ok {
		return nil, errors.New("it has no 'descr'")
	}
	a, err := parseDtype(descr)
	if err == nil && len(dict["shape"].([]any)) == 2 {
		err = a.inColumns(columns)
	}
	if err == nil && records > (1<<62)/int64(a.RecordSize) {
		err = fmt.Errorf(
			"shape %.99s is impossibly large", pyRepr(dict["shape"], true),
		)
	}
	a.Records = records
	return a, err
}

// npyShape parses (records,) or (records, columns). An array of one dimension has one column.
func npyShape(v any) (records, columns int64, err error) {
	shape, ok := v.([]any)
	if !ok {
		return 0, 0, errors.New("its 'shape' is missing, or not a tuple")
	}
	if len(shape) < 1 || len(shape) > 2 {
		return 0, 0, fmt.Errorf(
			"the array has %d dimensions, but only arrays of one or two can be sorted: "+
				"reshape it",
			len(shape),
		)
	}
	sizes := []int64{0, 1}
	for i, dim := range shape {
		number, _ := dim.(json.Number)
		if sizes[i], err = number.Int64(); err != nil || sizes[i] < 0 {
			return 0, 0, fmt.Errorf(
				"shape %.99s is not a number of records", pyRepr(shape, true),
			)
		}
	}

	return sizes[0], sizes[1], nil
}

// newNpy returns the header of a new array of plain keys.
func (s Spec) newNpy() (*Header, error) {
	if s.Type == "" {
		return nil, option.Errorf(
			option.Format,
			" npy needs the type of the array to generate: add %v TYPE",
			option.Type,
		)
	}
	t, err := ParseType(s.Type)
	if err != nil {
		return nil, err
	}
	descr, err := npyDescr(t)
	if err != nil {
		return nil, err
	}
	h := &Header{
		layout:  Bare(t),
		records: -1,
		dtype:   pyRepr(descr, false),
	}
	h.size = int64(len(encodeNpy(h.dtype, 0, 0)))
	return h, nil
}

// encodeNpy returns exactly the bytes that numpy.save writes before the data of an array. If
// columns is 0, the array has one dimension.
func encodeNpy(dtype string, records int64, columns int) []byte {
	count := fmt.Sprint(records)
	second := ""
	if columns > 0 {
		second = fmt.Sprintf(" %d", columns)
	}
	text := "{'descr': " + dtype + ", 'fortran_order': False, 'shape': (" + count + "," + second +
		"), }" +
		strings.Repeat(" ", npyCountWidth-len(count))
	major := byte(1)
	raw, ok := toLatin1(text)
	if !ok {
		raw = []byte(text)
		major = 3
	} else if len(raw)+npyAlignment > 0xffff {
		major = 2
	}
	// NumPy pads with 1 to 64 bytes, never with 0, because it counts the newline first.
	padding := npyAlignment - (8+npyLengthBytes(major)+len(raw)+1)%npyAlignment
	raw = append(raw, strings.Repeat(" ", padding)+"\n"...)
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(raw)))
	return slices.Concat(
		[]byte(npyMagic),
		[]byte{major, 0},
		length[:npyLengthBytes(major)],
		raw,
	)
}
