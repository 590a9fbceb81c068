package output

import (
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/human"
)

// file is the open file that a stream is written to; nil: it is another Writer.
func (e *streamEnd) file() *os.File {
	if out, ok := e.to.(*Output); ok {
		return out.file
	}
	file, _ := e.to.(*os.File)
	return file
}

// begin makes sure, once, that the output may be written.
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

// reserveGrowth makes sure that there is room for the output where it is longer than the file it overwrites, or fills
// its holes. A disk that is full later would leave neither the old content nor the new one.
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
		if err := mayHave(from + bytes); err != nil {
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

// attempt does an operation unless it is to fail.
func (e *streamEnd) attempt(operation string, do func() error) error {
	if e.fault != nil {
		if err := e.fault(operation); err != nil {
			return err
		}
	}
	return do()
}

// cutOff removes what an old file has behind the output that was written over it. Without that, a shorter output would
// end in old records, or in garbage behind a compressed stream.
func (e *streamEnd) cutOff() error {
	if err := e.begin(); err != nil { // nothing was written
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
		return fmt.Errorf("shorten %s to its %d bytes: %w", file.Name(), end, device.WithoutPath(err))
	}
	return nil
}
