package output

import (
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/device"
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
	err := e.inPlace(now)
	if err == nil {
		e.inPlace = nil
	}
	return err
}

// cutOff removes what an old file has behind the output that was written over it. Without that, a shorter output would
// end in old records, or in garbage behind a compressed stream.
func (e *streamEnd) cutOff() error {
	if err := e.begin(); err != nil { // nothing was written
		return err
	}
	file := e.file()
	if file == nil || appends(file) {
		return nil
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return device.WithoutPath(err)
	}
	end, err := file.Seek(0, io.SeekCurrent)
	if err == nil && end < info.Size() {
		err = file.Truncate(end)
	}
	if err != nil {
		return fmt.Errorf("shorten %s to its %d bytes: %w", file.Name(), end, device.WithoutPath(err))
	}
	return nil
}
