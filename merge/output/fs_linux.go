package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

type systemFile struct {
	*os.File
	mapped *mapping
}

func newSystemFile(f *os.File) File { return systemFile{f, &mapping{file: f}} }

// OpenUnnamed uses O_TMPFILE. It is not supported by some file systems, and useless where /proc is not mounted,
// because there the file could not be named at the end.
func (systemFS) OpenUnnamed(folder string, perm fs.FileMode) (File, error) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return nil, errors.ErrUnsupported
	}
	fd, err := unix.Open(folder, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm.Perm()))
	switch err {
	case nil:
		return newSystemFile(os.NewFile(uintptr(fd), folder)), nil
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL, unix.ENOSYS:
		return nil, errors.ErrUnsupported
	}
	return nil, &fs.PathError{Op: "create a file in", Path: folder, Err: err}
}

// Link names the file that OpenUnnamed made.
func (systemFS) Link(f File, name string) error {
	file, ok := f.(systemFile)
	if !ok {
		return fmt.Errorf("link %s: not a file of this file system", name)
	}
	self := "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
	if err := unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW); err != nil {
		return &fs.PathError{Op: "link", Path: name, Err: err}
	}
	return nil
}

// Reserve allocates blocks for the file, and says how many are free if that fails. In a file system that lies in memory
// one thread would fill all of it with zeros, which the writers then do again; there it only asks.
func (f systemFile) Reserve(bytes int64, writers int) error {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) == nil && st.Type == unix.TMPFS_MAGIC {
		if st.Blocks > 0 && freeBytes(&st) < bytes {
			return notEnough(&st)
		}
		if worthMapping(bytes, writers) {
			f.mapped.open(bytes)
		}
		return nil
	}
	err := fallocate(f.File, 0, bytes)
	switch err {
	case unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL, unix.ENODEV, unix.ESPIPE:
		return nil
	case unix.ENOSPC:
		return notEnough(&st)
	}
	return err
}

func notEnough(st *unix.Statfs_t) error {
	return fmt.Errorf("%w: %d bytes are free", unix.ENOSPC, freeBytes(st))
}

func freeBytes(st *unix.Statfs_t) int64 { return int64(st.Bavail) * int64(st.Bsize) }

func fallocate(f *os.File, offset, bytes int64) error {
	for {
		if err := unix.Fallocate(int(f.Fd()), 0, offset, bytes); err != unix.EINTR {
			return err
		}
	}
}

// WriteAt writes at an offset.
func (f systemFile) WriteAt(p []byte, offset int64) (int, error) {
	if f.mapped.covers(offset, len(p)) {
		return f.mapped.writeAt(p, offset)
	}
	return f.File.WriteAt(p, offset)
}

// WriteBehind does not wait, and needs no error: Sync would report it. Behind a mapped file there is no disk.
func (f systemFile) WriteBehind(offset, n int64) {
	if !f.mapped.covers(offset, int(n)) {
		_ = unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
	}
}

// Close unmaps and closes the file. REQUIRES: no write is under way.
func (f systemFile) Close() error {
	f.mapped.close()
	return f.File.Close()
}
