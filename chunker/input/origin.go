package input

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/extsort/extsort/chunker/spill"
)

// An origin is where the bytes of an input come from: a localFile, a versioned source or a pipe. It
// distinguishes the bytes from others and notices changes.
type origin interface {
	// identity distinguishes an input with this name from others and from earlier versions of
	// itself.
	identity(name string) string

	// stamp distinguishes the bytes from earlier and later ones under the same name. It is "" if
	// the origin can't distinguish them.
	stamp() string

	// check returns an error if the bytes have changed since they were opened, and calls warn if
	// bytes were only appended.
	check(warn func(string)) error

	// readCompletely notes that all bytes have been read: later changes are not checked.
	readCompletely()
}

// A version is the origin of a source with an io.ReaderAt, such as a remote object, which reports
// changes itself.
type version string

func (v version) identity(name string) string { return name + " of " + v.stamp() }
func (v version) stamp() string               { return string(v) }
func (v version) check(func(string)) error    { return nil }
func (v version) readCompletely()             {}

// unknownOrigin is the origin of a pipe or another reader.
type unknownOrigin struct{}

func (unknownOrigin) identity(name string) string { return absolute(name) }
func (unknownOrigin) stamp() string               { return "" }
func (unknownOrigin) check(func(string)) error    { return nil }
func (unknownOrigin) readCompletely()             {}

// absolute returns the absolute path of a file that has been opened, so filepath.Abs cannot fail.
func absolute(name string) string {
	path, _ := filepath.Abs(name)
	return path
}

// A localFile is a regular file or a block device.
type localFile struct {
	shownName  string // name in messages
	file       *os.File
	openedInfo os.FileInfo // when it was opened
	state      fileState
	lastInfo   os.FileInfo // when all of it had been read. REQUIRES: state is fileRead
}

// fileState is the state of a localFile.
type fileState uint8

const (
	fileOpen   fileState = iota
	fileMapped           // the descriptor is closed, and the map remains
	fileRead             // all bytes have been read, and the descriptor may be closed
)

func (f *localFile) isOpen() bool { return f.state == fileOpen }

func (f *localFile) identity(name string) string { return absolute(name) + " of " + f.stamp() }

func (f *localFile) stamp() string { return spill.Stamp(f.openedInfo) }

func (f *localFile) readCompletely() {
	if !f.isOpen() {
		return
	}
	if info, err := f.file.Stat(); err == nil {
		f.lastInfo = info
		f.state = fileRead
	}
}

// stat returns the current state of the file, or the state after all of it was read. If the
// descriptor is closed and the name has been removed, it returns the state when it was opened.
func (f *localFile) stat() (os.FileInfo, error) {
	switch f.state {
	case fileRead:
		return f.lastInfo, nil
	case fileOpen:
		return f.file.Stat()
	}

	now, err := os.Stat(f.shownName)
	if err != nil || !os.SameFile(now, f.openedInfo) {
		return f.openedInfo, nil // the map still refers to the original file
	}
	return now, nil
}

// check is necessary for mapped files, too: if a file is truncated within a page, the rest of the
// page reads as zeros without a fault. It cannot notice a change within one tick of the file
// system's clock.
func (f *localFile) check(warn func(string)) error {
	now, err := f.stat()
	if err != nil {
		return plainPathError(err)
	}
	switch before := f.openedInfo.Size(); {
	case now.Size() > before:
		warn(
			fmt.Sprintf(
				"%s: the file grew while it was being read: %d bytes before, %d now; the appended bytes are left out",
				f.shownName, before, now.Size(),
			),
		)
	case now.Size() < before:
		return fmt.Errorf(
			"%s: the file changed while it was being read: %d bytes before, %d now; try again",
			f.shownName, before, now.Size(),
		)
	case !now.ModTime().Equal(f.openedInfo.ModTime()):
		return fmt.Errorf("%s: the file was written to while it was being read; try again", f.shownName)
	}

	return nil
}
