package merge

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
		return systemFile{os.NewFile(uintptr(fd), folder)}, nil
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

// Reserve allocates blocks for the file, and says how many are free if that fails.
func (f systemFile) Reserve(bytes int64) error {
	var err error
	for {
		if err = unix.Fallocate(int(f.Fd()), 0, 0, bytes); err != unix.EINTR {
			break
		}
	}
	switch err {
	case unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL, unix.ENODEV, unix.ESPIPE:
		return nil
	case unix.ENOSPC:
		var st unix.Statfs_t
		if unix.Fstatfs(int(f.Fd()), &st) == nil {
			return fmt.Errorf("%w: %d bytes are free", err, int64(st.Bavail)*int64(st.Bsize))
		}
	}
	return err
}
