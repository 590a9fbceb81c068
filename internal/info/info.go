// Package info describes the content of a file: Inspect returns a Report.
//
// It requires no information about the file. If the record is described, by the caller or by the
// file itself, the report also describes the keys. Inspect reads blocks from all parts of a file, a
// few megabytes in total, unless Options.All requests all records. It reads only the beginning of a
// stream or a compressed file.
//
//	source.go    the file as bytes
//	sizes.go     likely record sizes
//	records.go   the first, a middle and the last record, field by field
//	scan.go      order, extremes, duplicates, NaNs, a histogram
package info

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/filename"
)

// Options describes how Inspect examines a file.
type Options struct {
	Record      format.Spec // the zero Spec: described by the file, or unknown. REQUIRES: valid
	Recognition format.Recognition
	// Bytes to skip at the beginning, after decompression; positions do not count them.
	SkipBytes int64
	// Number of records; the bytes after them are ignored. 0: not specified; negative: none.
	Records  int64
	SkipTail int64 // bytes to ignore at the end, after decompression
	All      bool  // examine every record
	// WindowBytes is the largest window of a decompressor; 0: 1 GiB.
	WindowBytes int64
}

// A Report describes a file. Sizes and positions are in bytes; -1 means unknown.
type Report struct {
	File        string `json:"file"`
	RawFile     []byte `json:"file_base64,omitempty"` // the same, if it is not UTF-8
	Bytes       int64  `json:"bytes"`                 // of the file
	Compression string `json:"compression,omitempty"` // "": none
	DataBytes   int64  `json:"data_bytes"`            // decompressed
	// Raw, npy, npz, sosd ..., empty, text, or a description.
	Container   string  `json:"container"`
	HeaderBytes int64   `json:"header_bytes"`          // before the first record
	Records     int64   `json:"records"`               //
	RecordSize  int     `json:"record_size,omitempty"` // 0: unknown
	LeftOver    int64   `json:"left_over,omitempty"`   // bytes after the last complete record
	DType       string  `json:"dtype,omitempty"`       // of a NumPy array
	Fields      []Field `json:"fields,omitempty"`      // of a NumPy array
	// Number of columns, if records have columns; Fields contains the first ones.
	Columns     int      `json:"columns,omitempty"`
	Members     []Member `json:"members,omitempty"`      // of an archive of NumPy arrays
	Layout      string   `json:"layout,omitempty"`       // of the record, with its key
	RecordSizes []Size   `json:"record_sizes,omitempty"` // likely sizes, the most likely first

	// Result of examining the keys; nil: the key is unknown.
	Scan    *Scan    `json:"scan,omitempty"`
	Shown   []Record `json:"shown,omitempty"`   // the first, a middle and the last record
	Problem string   `json:"problem,omitempty"` // why the file cannot be sorted as described
}

// Field is a field of a NumPy array.
type Field struct {
	Name   string `json:"name"` // "": of an array that has no names
	Offset int    `json:"offset"`
	Type   string `json:"type,omitempty"`   // type for sorting; "": it cannot be a key
	Reason string `json:"reason,omitempty"` // why it cannot be a key
}

// Member is an array in an archive.
type Member struct {
	Name    string `json:"name"`
	RawName []byte `json:"name_base64,omitempty"` // the same, if it is not UTF-8
	Bytes   int64  `json:"bytes"`                 // decompressed, including its header
	DType   string `json:"dtype,omitempty"`       // in Python's notation
	// Number of records and, if there are two dimensions, of columns.
	Shape   []int64 `json:"shape,omitempty"`
	Problem string  `json:"problem,omitempty"` // why the array cannot be sorted
}

const maxDescribed = 100 // number of arrays of an archive to open

// describe sets the fields that the header of the array contains.
func (m *Member) describe(archive string, file *format.Member) {
	var array *format.Array
	r, err := file.Open()
	if err == nil {
		defer r.Close()
		array, err = format.ReadArray(archive, r)
	}
	if err != nil {
		m.Problem = err.Error()
		return
	}
	m.DType = array.DType
	m.Shape = []int64{array.Records}
	if array.Columns > 0 {
		m.Shape = append(m.Shape, int64(array.Columns))
	}
}

// Inspect describes the file called name, or stdin for "-". It succeeds for every readable file,
// whatever its content.
func Inspect(
	ctx context.Context, name string, stdin io.Reader, opt Options,
) (*Report, error) {
	src, err := open(ctx, name, stdin, &opt)
	if err != nil {
		return nil, err
	}
	defer src.Close() // closing a file that was only read cannot lose data
	l := &inspection{Options: opt, src: src, report: &Report{
		File: src.name, RawFile: filename.Raw(
			src.name,
		), Bytes: src.bytes, DataBytes: src.data, Records: -1,
	}}
	if src.codec != format.None {
		l.report.Compression = src.codec.String()
	}
	l.noteProblem(src.fault)
	l.recognise()
	l.readHeader()
	return l.report, l.inspectRecords(ctx)
}

// inspection is a Report in progress.
type inspection struct {
	Options
	src    *source
	report *Report

	array  *format.Array  // nil: not an array
	header *format.Header // nil: the key is unknown
}

// noteProblem records the first problem.
func (l *inspection) noteProblem(err error) {
	if err != nil && l.report.Problem == "" {
		l.report.Problem = strings.TrimPrefix(err.Error(), l.src.name+": ")
	}
}

// recognise finds the container by the first bytes.
func (l *inspection) recognise() {
	r := l.report
	head := l.src.head
	foreign := format.ForeignName(head[:min(len(head), format.DetectBytes)])
	magic, _ := format.ByMagic(head)
	guessed, isGuessed := l.Recognition.Guess(l.src.name, head, l.src.data)
	r.Container = "raw"
	switch {
	case len(l.src.members) > 0:
		r.Container = l.src.archive
		l.Record.Format = l.src.archive
		l.listMembers()
	case len(head) == 0 && l.src.fault == nil:
		r.Container = "empty"
		r.Records = 0
	case l.Record.Format != "":
		r.Container = l.Record.Format
	case l.Recognition.Raw:
	case magic.IsArray && !magic.IsArchive:
		r.Container = magic.Name
		if !l.described() {
			l.Record.Format = magic.Name
		}
	case foreign != "":
		r.Container = foreign
	case l.described():
	case isGuessed:
		r.Container = guessed.Format
		l.Record.Format = guessed.Format
		l.Record.Type = guessed.Type
	case format.IsText(head):
		r.Container = "text"
	}
	if len(l.Record.Keys) > 0 && !l.described() {
		l.noteProblem(l.Record.Validate())
	}
}

// listMembers adds the files of an archive to the report.
func (l *inspection) listMembers() {
	for i, file := range l.src.members {
		m := Member{Name: file.Name, RawName: filename.Raw(file.Name), Bytes: file.Bytes}
		if i < maxDescribed {
			m.describe(l.src.archive, &file)
		}
		l.report.Members = append(l.report.Members, m)
	}
}

// described reports whether the options describe the record.
func (l *inspection) described() bool {
	return l.Record.Format+l.Record.Type+l.Record.Fields != "" ||
		l.Record.RecordSize > 0
}

// readHeader determines the layout of the records. An invalid layout is a problem in the report,
// not an error.
func (l *inspection) readHeader() {
	r := l.report
	src := l.src
	isArray := format.Spec{Format: r.Container}.Container().ListsFields
	if isArray && len(src.head) > 0 {
		l.readArray()
	}
	if !l.described() || r.Container == "empty" || isArray && l.array == nil ||
		l.needsKey() {
		return
	}
	header, err := l.Record.ReadHeader(bytes.NewReader(src.head), src.name)
	if err == nil {
		err = l.Recognition.CheckRecords(l.Record, src.head)
	}
	if l.noteProblem(err); err != nil {
		return
	}
	l.header = header
	if l.Records != 0 {
		l.noteProblem(
			src.clip(
				header.Size(),
				max(l.Records, 0),
				int64(header.Layout().RecordSize),
			),
		)
		r.DataBytes = src.data
	}
	r.HeaderBytes, r.RecordSize, r.Layout = header.Size(), header.Layout().RecordSize, header.Layout().String()
	l.countRecords(header.Records())
	if src.data >= 0 {
		_, err = format.CheckSize(src.name, header, src.data)
		l.noteProblem(err)
	}
}

// needsKey reports whether the file is an array of several fields and the options choose none of
// them.
func (l *inspection) needsKey() bool {
	a := l.array
	return a != nil && a.Columns != 1 && len(l.Record.Keys) == 0 &&
		(len(a.Fields) != 1 || a.Fields[0].Name != "")
}

// readArray sets the fields of the report from the header of a NumPy array.
func (l *inspection) readArray() {
	array, err := format.ReadArray(
		l.report.Container, bytes.NewReader(l.src.head),
	)
	if err != nil {
		l.noteProblem(fmt.Errorf("the header: %w", err))
		return
	}
	l.array = array
	r := l.report
	r.DType = array.DType
	r.HeaderBytes = array.HeaderBytes
	r.RecordSize = array.RecordSize
	r.Columns = array.Columns
	for _, f := range array.Fields {
		field := Field{
			Name:   f.Name,
			Offset: f.Offset,
			Reason: f.Why,
		}
		if f.Why == "" {
			field.Type = f.Type.String()
		}
		r.Fields = append(r.Fields, field)
	}
	l.countRecords(array.Records)
}

// countRecords counts the records in the file or, if that is impossible, uses the number in the
// header.
func (l *inspection) countRecords(announced int64) {
	r := l.report
	r.Records = announced
	data := l.src.data - r.HeaderBytes
	if l.src.data >= 0 {
		data = max(data, 0)
		r.Records = data / int64(r.RecordSize)
		r.LeftOver = data % int64(r.RecordSize)
	}
}

func (l *inspection) inspectRecords(ctx context.Context) error {
	r := l.report
	var err error
	if r.RecordSize == 0 && (r.Container == "raw" || r.Container == "text") {
		r.RecordSizes, err = likelySizes(l.src)
	}
	if r.Container == "text" { // lines are similar at many distances
		r.RecordSizes = slices.DeleteFunc(r.RecordSizes, func(s Size) bool {
			return s.LeftOver != 0
		})
	}
	if err == nil {
		r.Shown, err = l.readShown()
	}
	if err == nil && l.header != nil {
		r.Scan, err = l.scan(ctx)
	}
	return err
}
