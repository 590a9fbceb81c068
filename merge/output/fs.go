package output

import (
	"io"
	"io/fs"
	"os"
)

// FS is what an Output needs of the file system. SystemFS is the real one; tests inject faults into it.
type FS interface {
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
	// OpenDescriptor opens what is open as a descriptor of this process, to go on where that is.
	OpenDescriptor(number int) (File, error)
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)

	// OpenUnnamed makes a file in folder that has no name and is gone when it is closed without one. The error
	// is errors.ErrUnsupported where there is no such thing.
	OpenUnnamed(folder string, perm fs.FileMode) (File, error)
	// Link names an unnamed file.
	Link(f File, name string) error

	Rename(from, to string) error
	Remove(name string) error
	// SyncFolder makes the names in folder durable.
	SyncFolder(folder string) error
}

// File is an open file.
type File interface {
	io.Writer
	io.WriterAt
	io.ReaderAt
	// Reserve makes sure that the file can grow to that many bytes, where the file system can promise it, and prepares
	// it for so many writers at once.
	Reserve(bytes int64, writers int) error
	// WriteBehind lets the system begin to write n bytes at offset to the disk, if it can be told so.
	WriteBehind(offset, n int64)
	Truncate(bytes int64) error
	Chmod(mode fs.FileMode) error
	Chown(user, group int) error
	Sync() error
	Close() error
}

// SystemFS is the file system of this machine.
var SystemFS FS = systemFS{}

type systemFS struct{}

func (systemFS) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
func (systemFS) Readlink(name string) (string, error)   { return os.Readlink(name) }
func (systemFS) Rename(from, to string) error           { return os.Rename(from, to) }
func (systemFS) Remove(name string) error               { return os.Remove(name) }

func (systemFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return newSystemFile(f), nil
}
