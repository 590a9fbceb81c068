package input

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/fileerr"
)

// An Input is an opened source whose header has been read.
type Input struct {
	Name    string
	Header  *format.Header
	Records int64 // -1 if not known before the end
	First   int64 // number of records of the file to skip

	Replaced bool // the input is also the output
	// Overwritten is set if the output overwrites the input in place, after the whole input has
	// been read.
	Overwritten bool

	decompression
	reading
	prefetching

	origin origin // where the bytes come from
	close  []io.Closer
	member string // name of the archive member in use; "" if the input is no archive

	frame        inputFrame // the bytes around the records
	wholeRecords int64      // see WholeRecords
	warnings     []string   // see TakeWarnings
}

// reading is how the records of an input are read.
type reading struct {
	access access
	at     *seekable // contains the records. REQUIRES: access is atOffsets
	stream io.Reader // the records, decompressed. REQUIRES: access is inSequence
}

// prefetching says how the records of an input are read ahead with requests.
type prefetching struct {
	remote *fetcher            // of all remote inputs; nil if this one is not remote
	queued *fetcher            // with direct I/O; nil without, and except in the first input
	direct *blockio.DirectFile // this file, opened for direct I/O; nil if not supported
}

// access says when the records of an input can be read.
type access uint8

const (
	atOffsets  access = iota // at any offset, by several goroutines at once
	inSequence               // once, from the first to the last
	atEnd                    // not any more: they have been read in sequence
)

// Stdin is the name of standard input, and shownStdin is its name in messages.
const (
	Stdin      = "-"
	shownStdin = "standard input"
)

// Kind describes the records of the inputs, and how files of another kind are recognized.
type Kind struct {
	format.Spec
	format.Recognition
	Frame

	// FewReads means that records are read in few places. Files are then not mapped, and it is not
	// checked whether the page cache holds them, because the check reads a page of a file that it does
	// not hold.
	FewReads bool

	first bool // first of all inputs
}

// named puts the name of the input in front of an error; nil stays nil.
func (in *Input) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", in.Name, err)
}

// warn adds a warning about the input, unless it is "".
func (in *Input) warn(doubt string) {
	if doubt != "" {
		in.warnings = append(in.warnings, in.Name+": "+doubt)
	}
}

// TakeWarnings returns the warnings about the input and clears them.
func (in *Input) TakeWarnings() []string {
	warnings := in.warnings
	in.warnings = nil
	return warnings
}

// Seekable reports whether the input supports random access.
func (in *Input) Seekable() bool { return in.access == atOffsets }

// IsCached reports whether the input is a file in the page cache, so that reading single records
// does not wait for a disk.
func (in *Input) IsCached() bool { return in.Seekable() && in.at.cached }

// IsDisk reports whether the input is a block device, which has no modification time.
func (in *Input) IsDisk() bool {
	file, ok := in.origin.(*localFile)
	return ok && isDisk(file.openedInfo)
}

// ReadRecords fills p with the records from index first on. REQUIRES: Seekable
func (in *Input) ReadRecords(p []byte, first int64) error {
	off := in.Offset(first)
	n, err := in.at.ReadAt(p, off)
	if n == len(p) {
		return in.Header.CheckRecords(p, first*int64(in.Header.Layout().RecordSize))
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &fileerr.Error{Op: "read", File: in.Name, Offset: off + int64(n), Err: err}
}

// Offset returns the offset of a record in the decompressed file.
func (in *Input) Offset(record int64) int64 {
	return in.Header.Size() + (in.First+record)*int64(in.Header.Layout().RecordSize)
}

// prefetch asks the system to read n records from index first on. REQUIRES: Seekable
func (in *Input) prefetch(first, n int64) {
	if file, ok := in.origin.(*localFile); ok && file.isOpen() {
		willNeed(file.file, in.at.start+in.Offset(first), n*int64(in.Header.Layout().RecordSize))
	}
}

// ErrChanged reports that an input that is read twice has changed in between.
var ErrChanged = errors.New("the input changed while it was read")

// Check returns an error if the content changed while it was being read. If a file only grew, Check
// calls warn, because the original records have been read.
func (in *Input) Check(warn func(message string)) error {
	for _, message := range in.TakeWarnings() {
		warn(message)
	}
	if in.Overwritten {
		return nil
	}
	return in.origin.check(warn)
}

// CheckUnchanged returns an error if a file that is about to be overwritten has changed since it
// was opened. now describes its current state.
func (in *Input) CheckUnchanged(now os.FileInfo) error {
	file, ok := in.origin.(*localFile)
	if !ok || !now.Mode().IsRegular() {
		return nil
	}
	before := file.openedInfo
	if now.Size() == before.Size() && now.ModTime().Equal(before.ModTime()) {
		return nil
	}
	return fmt.Errorf(
		"%s: the file changed while it was read, and was not overwritten; try again", in.Name,
	)
}

// Close closes the input, once.
func (in *Input) Close() error {
	closers := in.close
	in.close = nil
	in.decodes = false
	in.decoder = nil
	return joinErrors(closers, io.Closer.Close)
}

// CloseReplaced closes the inputs that the output replaces, because Windows cannot replace a file
// that is open or mapped. REQUIRES: all records have been read
func CloseReplaced(all []*Input) error {
	return joinErrors(all, func(in *Input) error {
		if !in.Replaced || in.Overwritten {
			return nil
		}
		return in.Close()
	})
}
