package input

import (
	"errors"
	"os"
	"runtime/debug"

	"golang.org/x/exp/mmap"
)

// mappedFile reads a regular file through a memory map, without a descriptor that stays open, so that the number of inputs
// is not limited by that of open files. See regularFile for what is better about calls.
type mappedFile struct {
	name string
	info os.FileInfo // as it was when the file was opened
	m    *mmap.ReaderAt
	held bool
}

// newMapped maps the file called name, which it closes.
func newMapped(name string, file *os.File) (*mappedFile, error) {
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	m, err := mmap.Open(name)
	if err != nil {
		return nil, err
	}
	return &mappedFile{name: name, info: info, m: m}, nil
}

// errFault is what a caller wraps with the name and the offset.
var errFault = errors.New("the file became shorter, or its disk failed, while it was being read")

// ReadAt reads like io.ReaderAt. Where the file has shrunk since it was mapped, or its disk fails, the system
// signals a fault; here that is an error.
func (f *mappedFile) ReadAt(p []byte, off int64) (n int, err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if recover() != nil {
			n, err = 0, errFault
		}
	}()
	return f.m.ReadAt(p, off)
}

// hold has check report any change of the file since it was opened, and release no more than before.
func (f *mappedFile) hold() error {
	f.held = true
	return nil
}

func (f *mappedFile) release() { f.held = false }

// check reports whether the file changed its size since it was opened. The tail of the last page of a file that
// was cut within it reads as zeros without a fault, so every sort asks this before it calls its output done.
func (f *mappedFile) check() error {
	now, err := os.Stat(f.name)
	if err != nil || !os.SameFile(now, f.info) {
		return nil // it was removed or replaced: the map still holds the file that was opened
	}
	if err := sizeUnchanged(f.name, f.info.Size(), now.Size()); err != nil {
		return err
	}
	if f.held && !f.info.ModTime().Equal(now.ModTime()) {
		return writtenTo(f.name)
	}
	return nil
}

func (f *mappedFile) Close() error { return f.m.Close() }
