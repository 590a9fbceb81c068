package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

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

func newSystemFile(f *os.File) File { return systemFile{f, &mapping{file: f}} }

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

// Reserve allocates blocks for the file, and says how many are free if that fails.
//
// In a file system that lies in memory that would be one thread filling all of it with zeros, which the writers
// then do again. There it only asks, and lets the pages be allocated while the input is read.
func (f systemFile) Reserve(bytes int64) error {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) == nil && st.Type == unix.TMPFS_MAGIC {
		if err := enough(&st, bytes); err != nil || f.mapped == nil {
			return err
		}
		f.mapped.open(bytes)
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

// enough reports a file system with a limit that has fewer free bytes.
func enough(st *unix.Statfs_t, bytes int64) error {
	if st.Blocks > 0 && freeBytes(st) < bytes {
		return notEnough(st)
	}
	return nil
}

func notEnough(st *unix.Statfs_t) error {
	return fmt.Errorf("%w: %d bytes are free", unix.ENOSPC, freeBytes(st))
}

func freeBytes(st *unix.Statfs_t) int64 { return int64(st.Bavail) * int64(st.Bsize) }

// WriteBehind does not wait, and needs no error: Sync would report it.
func (f systemFile) WriteBehind(offset, n int64) {
	if f.mapped.covers(offset, int(n)) {
		return // there is no disk behind it
	}
	_ = unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}
