package blockio

import (
	"io"
	"os"
)

// A DirectFile is a file that is open for direct I/O, which bypasses the page cache.
type DirectFile struct{ file *os.File }

// Props implements File.
func (d *DirectFile) Props() Props { return Props{Align: Align} }

// ReadAt implements io.ReaderAt. A file may end within an aligned block. If the system then returns
// an error of its own, ReadAt returns io.EOF instead.
func (d *DirectFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := d.file.ReadAt(p, off)
	if err != nil && n%Align != 0 {
		err = io.EOF
	}
	return n, err
}

// WriteAt implements io.WriterAt.
func (d *DirectFile) WriteAt(p []byte, off int64) (int, error) { return d.file.WriteAt(p, off) }

// Close closes the file. The file that it was opened from stays open.
func (d *DirectFile) Close() error { return d.file.Close() }
