package input

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// regularFile reads a regular file at offsets by calls. From a disk that is much faster than through a map, of which every
// fault reads pages around the one that is wanted, and no page before it is asked for: 1 GiB that was not in memory was
// sorted in 2.2 s in place of 3.4, where cp took 1.9, and the sample's part of it was 0.03 s in place of 1. From memory it
// is as fast. And a map has to be undone in the end: for 16 GiB that takes 0.15 s, in which whoever maps memory waits, as
// the driver of a GPU does.
type regularFile struct {
	shown string // its name in messages
	file  *os.File
	start int64 // where offsets count from
	bytes int64 // from there on, when it was opened

	held time.Time // when it was changed last, before it was held; zero: it is not
}

// errShorter is what a caller wraps with the name and the offset.
var errShorter = errors.New("the file became shorter while it was being read")

func (f *regularFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.file.ReadAt(p, f.start+off)
	var pathErr *os.PathError
	switch {
	case err == io.EOF && off+int64(len(p)) <= f.bytes:
		err = errShorter
	case errors.As(err, &pathErr):
		err = pathErr.Err
	}
	return n, err
}

// hold has check report any change of the file from now on, and release no more than before.
func (f *regularFile) hold() error {
	now, err := f.file.Stat()
	if err != nil {
		return plainPathError(err)
	}
	f.held = now.ModTime()
	return nil
}

func (f *regularFile) release() { f.held = time.Time{} }

// check reports whether the file has changed its size since it was opened, or at all since it is held.
func (f *regularFile) check() error {
	now, err := f.file.Stat()
	if err != nil {
		return plainPathError(err)
	}
	if err := sizeUnchanged(f.shown, f.start+f.bytes, now.Size()); err != nil {
		return err
	}
	if !f.held.IsZero() && !f.held.Equal(now.ModTime()) {
		return writtenTo(f.shown)
	}
	return nil
}

func writtenTo(name string) error {
	return fmt.Errorf("%s: the file was written to while it was being sorted", name)
}

func sizeUnchanged(name string, before, now int64) error {
	if before == now {
		return nil
	}
	return fmt.Errorf("%s: the file changed while it was being read: %d bytes before, %d now", name, before, now)
}

func (f *regularFile) Close() error { return f.file.Close() }
