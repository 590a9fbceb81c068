package output

import (
	"io"
	"os"
)

// A sequentialFile sends the bytes of a regular file to the disk while a stream writes them. The
// shell opens such a file for redirected standard output. Without this, dirty pages would collect
// until the system makes the writer wait.
type sequentialFile struct {
	file    *os.File
	pending int64 // number of bytes before the offset of the file that were not sent yet
	send    func(file *os.File, offset, bytes int64)
}

// newSequentialFile returns nil if to is not a regular file, or if it is a File, which sends its
// bytes itself.
func newSequentialFile(to io.Writer) *sequentialFile {
	var file *os.File
	switch to := to.(type) {
	case *stream:
		file = to.file
	case *os.File:
		file = to
	default:
		return nil
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return &sequentialFile{file: file, send: writeBehind}
}

// noteWritten notes that n bytes were written before the current offset of the file. f may be nil.
func (f *sequentialFile) noteWritten(n int64) {
	if f == nil {
		return
	}
	f.pending += n
	if f.pending < writeBehindBytes {
		return
	}
	if end, err := f.file.Seek(0, io.SeekCurrent); err == nil {
		f.send(f.file, end-f.pending, f.pending)
	}
	f.pending = 0
}
