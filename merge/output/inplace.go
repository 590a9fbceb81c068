package output

import (
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/human"
)

// file returns the open file that the stream is written to, or nil if the stream is another kind
// of writer.
func (e *streamEnd) file() *os.File {
	switch to := e.to.(type) {
	case *stream:
		return to.file
	case *File:
		return to.file
	case *os.File:
		return to
	}
	return nil
}

// begin checks, once, that the output may be written.
func (e *streamEnd) begin() error {
	if e.inPlace == nil {
		return nil
	}
	var now os.FileInfo
	if file := e.file(); file != nil {
		var err error
		if now, err = file.Stat(); err != nil {
			return device.WithoutPath(err)
		}
	}
	if err := e.inPlace(now); err != nil {
		return err
	}
	if err := e.reserveGrowth(now); err != nil {
		return err
	}
	e.inPlace = nil
	return nil
}

// reserveGrowth reserves the space that the output needs beyond the file it overwrites, including
// the holes of that file. If the disk became full during the write, neither the old nor the new
// content would be complete.
func (e *streamEnd) reserveGrowth(now os.FileInfo) error {
	if now == nil || !now.Mode().IsRegular() || e.mostBytes == nil {
		return nil
	}
	bytes := e.mostBytes()
	if bytes <= 0 {
		return nil
	}
	file := e.file()
	from := now.Size()
	if !appends(file) {
		var err error
		if from, err = file.Seek(0, io.SeekCurrent); err != nil {
			return device.WithoutPath(err)
		}
	}

	err := e.attempt("reserve growth", func() error {
		if err := checkSizeLimit(from + bytes); err != nil {
			return err
		}
		e.reserved = true
		return reserveInPlace(file, now, from, bytes)
	})
	if err != nil {
		return fmt.Errorf("%s is unchanged: an output of %s does not fit over it: %w", e.name,
			human.Bytes(bytes), device.WithoutPath(err))
	}
	return nil
}

// attempt calls do, unless the fault hook returns an error for the operation.
func (e *streamEnd) attempt(operation string, do func() error) error {
	if e.fault != nil {
		if err := e.fault(operation); err != nil {
			return err
		}
	}
	return do()
}

// cutOff truncates an old file after the output that was written over it. Otherwise a shorter
// output would end with old records, or with garbage after a compressed stream.
func (e *streamEnd) cutOff() error {
	if err := e.begin(); err != nil { // in case nothing was written
		return err
	}
	file := e.file()
	if file == nil || appends(file) && !e.reserved {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return device.WithoutPath(err)
	}
	end := info.Size()
	if !appends(file) {
		end, err = file.Seek(0, io.SeekCurrent)
	}
	if err == nil && (end < info.Size() || e.reserved) {
		err = file.Truncate(end)
	}
	if err != nil {
		return fmt.Errorf(
			"truncate %s to %d bytes: %w", file.Name(), end, device.WithoutPath(err),
		)
	}
	return nil
}
