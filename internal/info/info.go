// Package info tells what is in a file, as far as its bytes say: Look makes a Report.
//
// Nothing has to be known of the file. Where a description of the record is given, or the file has one itself, the
// report tells of the keys, too. A file is looked at in blocks from all over it, a few megabytes together, unless
// Options.All asks for every record; of a stream, and of what is compressed, the sample is its beginning.
//
//	source.go    the file as bytes that can be read
//	sizes.go     which record sizes the bytes speak for
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

// Options say how to look at a file.
type Options struct {
	Record      format.Spec // what a record is; the zero Spec: as the file says, or not known. REQUIRES: valid
	Recognition format.Recognition
	SkipBytes   int64 // at the beginning, decompressed, that are none of the data: places count from behind them
	Records     int64 // the number of records; the bytes behind them are not looked at. 0: not given; negative: none
	SkipTail    int64 // bytes at the end, decompressed, that are none of the data
	All         bool  // look at every record
}

// Report is what is known of a file. Sizes and places are in bytes, and -1 where they are not known.
type Report struct {
	File        string   `json:"file"`
	RawFile     []byte   `json:"file_base64,omitempty"`  // the same, where it is not UTF-8
	Bytes       int64    `json:"bytes"`                  // of the file
	Compression string   `json:"compression,omitempty"`  // "": none
	DataBytes   int64    `json:"data_bytes"`             // decompressed
	Container   string   `json:"container"`              // raw, npy, npz, sosd ..., empty, text, or in words what it is
	HeaderBytes int64    `json:"header_bytes"`           // before the first record
	Records     int64    `json:"records"`                //
	RecordSize  int      `json:"record_size,omitempty"`  // 0: not known
	LeftOver    int64    `json:"left_over,omitempty"`    // bytes after the last whole record
	DType       string   `json:"dtype,omitempty"`        // of a NumPy array
	Fields      []Field  `json:"fields,omitempty"`       // of a NumPy array
	Columns     int      `json:"columns,omitempty"`      // of records that have columns, of which Fields are the first
	Members     []Member `json:"members,omitempty"`      // of an archive of NumPy arrays
	Layout      string   `json:"layout,omitempty"`       // of the record, with its key
	RecordSizes []Size   `json:"record_sizes,omitempty"` // that are likely, the likeliest first

	Scan    *Scan    `json:"scan,omitempty"`    // what the keys are like; nil: no key is known
	Shown   []Record `json:"shown,omitempty"`   // the first, a middle and the last record
	Problem string   `json:"problem,omitempty"` // why the file cannot be sorted as described
}

// Field is a field of a NumPy array.
type Field struct {
	Name   string `json:"name"` // "": of an array that has no names
	Offset int    `json:"offset"`
	Type   string `json:"type,omitempty"`   // that it is sorted by; "": it cannot be a key
	Reason string `json:"reason,omitempty"` // why it cannot
}

// Member is an array of an archive.
type Member struct {
	Name    string  `json:"name"`
	RawName []byte  `json:"name_base64,omitempty"` // the same, where it is not UTF-8
	Bytes   int64   `json:"bytes"`                 // decompressed, with its header
	DType   string  `json:"dtype,omitempty"`       // as Python writes it
	Shape   []int64 `json:"shape,omitempty"`       // records, and of two dimensions columns
	Problem string  `json:"problem,omitempty"`     // why the array cannot be sorted
}

const maxDescribed = 100 // arrays of an archive that are opened

// describe adds what the header of the array says.
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
	m.DType, m.Shape = array.DType, []int64{array.Records}
	if array.Columns > 0 {
		m.Shape = append(m.Shape, int64(array.Columns))
	}
}

// Look tells what is in the file called name, or in stdin for "-". A file that can be read is no error, whatever is in
// it.
func Look(ctx context.Context, name string, stdin io.Reader, opt Options) (*Report, error) {
	src, err := open(ctx, name, stdin, &opt)
	if err != nil {
		return nil, err
	}
	defer src.Close() // which was only read
	l := &look{Options: opt, src: src, report: &Report{
		File: src.name, RawFile: filename.Raw(src.name), Bytes: src.bytes, DataBytes: src.data, Records: -1,
	}}
	if src.codec != format.None {
		l.report.Compression = src.codec.String()
	}
	l.note(src.fault)
	l.recognise()
	l.readHeader()
	return l.report, l.lookAtRecords(ctx)
}

// look is a Report in the making.
type look struct {
	Options
	src    *source
	report *Report

	array  *format.Array  // nil: it is none
	header *format.Header // nil: no key is known
}

// note keeps the first problem.
func (l *look) note(err error) {
	if err != nil && l.report.Problem == "" {
		l.report.Problem = strings.TrimPrefix(err.Error(), l.src.name+": ")
	}
}

// recognise tells the container by the first bytes.
func (l *look) recognise() {
	r, head := l.report, l.src.head
	foreign := format.ForeignName(head[:min(len(head), format.DetectBytes)])
	magic, _ := format.ByMagic(head)
	guessed, isGuessed := l.Recognition.Guess(l.src.name, head, l.src.data)
	r.Container = "raw"
	switch {
	case len(l.src.members) > 0:
		r.Container, l.Record.Format = l.src.archive, l.src.archive
		for i, file := range l.src.members {
			r.Members = append(r.Members, Member{Name: file.Name, RawName: filename.Raw(file.Name), Bytes: file.Bytes})
			if i < maxDescribed {
				r.Members[i].describe(l.src.archive, &file)
			}
		}
	case len(head) == 0 && l.src.fault == nil:
		r.Container, r.Records = "empty", 0
	case l.Record.Format != "":
		r.Container = l.Record.Format
	case l.Recognition.Raw:
	case magic.IsArray && !magic.IsArchive:
		r.Container = magic.Name
		if l.Record.Type == "" && l.Record.RecordSize == 0 {
			l.Record.Format = magic.Name
		}
	case foreign != "":
		r.Container = foreign
	case l.described():
	case isGuessed:
		r.Container = guessed.Format
		l.Record.Format, l.Record.Type = guessed.Format, guessed.Type
	case format.IsText(head):
		r.Container = "text"
	}
	if len(l.Record.Keys) > 0 && !l.described() {
		l.note(l.Record.Validate())
	}
}

// described reports whether something says what a record is.
func (l *look) described() bool {
	return l.Record.Format+l.Record.Type != "" || l.Record.RecordSize > 0
}

// readHeader finds out what the records are. What is wrong with them is a problem, but no error.
func (l *look) readHeader() {
	r, src := l.report, l.src
	isArray := format.Spec{Format: r.Container}.Container().ListsFields
	if isArray && len(src.head) > 0 {
		l.readArray()
	}
	if !l.described() || r.Container == "empty" || isArray && l.array == nil || l.needsKey() {
		return
	}
	header, err := l.Record.ReadHeader(bytes.NewReader(src.head), src.name)
	if err == nil {
		err = l.Recognition.CheckRecords(l.Record, src.head)
	}
	if l.note(err); err != nil {
		return
	}
	l.header = header
	if l.Records != 0 {
		l.note(src.clip(header.Size(), max(l.Records, 0), int64(header.Layout().RecordSize)))
		r.DataBytes = src.data
	}
	r.HeaderBytes, r.RecordSize, r.Layout = header.Size(), header.Layout().RecordSize, header.Layout().String()
	l.countRecords(header.Records())
	if src.data >= 0 {
		_, err = format.CheckSize(src.name, header, src.data)
		l.note(err)
	}
}

// needsKey reports whether the file is an array of several fields of which none was chosen.
func (l *look) needsKey() bool {
	a := l.array
	return a != nil && a.Columns != 1 && len(l.Record.Keys) == 0 && (len(a.Fields) != 1 || a.Fields[0].Name != "")
}

// readArray takes from a NumPy array what its header says.
func (l *look) readArray() {
	array, err := format.ReadArray(l.report.Container, bytes.NewReader(l.src.head))
	if err != nil {
		l.note(fmt.Errorf("the header: %w", err))
		return
	}
	l.array = array
	r := l.report
	r.DType, r.HeaderBytes, r.RecordSize, r.Columns = array.DType, array.HeaderBytes, array.RecordSize, array.Columns
	for _, f := range array.Fields {
		field := Field{Name: f.Name, Offset: f.Offset, Reason: f.Why}
		if f.Why == "" {
			field.Type = f.Type.String()
		}
		r.Fields = append(r.Fields, field)
	}
	l.countRecords(array.Records)
}

// countRecords counts the records that are there, else those that the header announces.
func (l *look) countRecords(announced int64) {
	r := l.report
	r.Records = announced
	if data := l.src.data - r.HeaderBytes; l.src.data >= 0 {
		data = max(data, 0)
		r.Records, r.LeftOver = data/int64(r.RecordSize), data%int64(r.RecordSize)
	}
}

func (l *look) lookAtRecords(ctx context.Context) error {
	r := l.report
	var err error
	if r.RecordSize == 0 && (r.Container == "raw" || r.Container == "text") {
		r.RecordSizes, err = likelySizes(l.src)
	}
	if r.Container == "text" { // lines are alike at many distances
		r.RecordSizes = slices.DeleteFunc(r.RecordSizes, func(s Size) bool { return s.LeftOver != 0 })
	}
	if err == nil {
		r.Shown, err = l.show()
	}
	if err == nil && l.header != nil {
		r.Scan, err = l.scan(ctx)
	}
	return err
}
