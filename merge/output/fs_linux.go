package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/internal/human"
)

// openUnnamed opens an unnamed file with O_TMPFILE. It returns errors.ErrUnsupported if the file
// system does not support that, or if /proc is not mounted, because then the file could not be
// named later.
func openUnnamed(folder *os.File, perm fs.FileMode) (*os.File, error) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return nil, errors.ErrUnsupported
	}
	fd, err := unix.Openat(
		int(folder.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm.Perm()),
	)
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), folder.Name()), nil
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL, unix.ENOSYS:
		return nil, errors.ErrUnsupported
	}

	return nil, err
}

// link gives a name in a directory to a file from openUnnamed.
func link(f, folder *os.File, name string) error {
	self := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	err := unix.Linkat(unix.AT_FDCWD, self, int(folder.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	return os.NewSyscallError("link", err)
}

// reserve allocates disk blocks for the file. If this fails, the error includes the free space.
// In a tmpfs, allocation would fill the file with zeros in one thread, and the writers would then
// fill it again. There, reserve only checks the free space.
func reserve(f *os.File, bytes int64) error {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) == nil && st.Type == unix.TMPFS_MAGIC {
		if st.Blocks > 0 && freeBytes(&st) < bytes {
			return notEnough(&st)
		}
		return nil
	}

	err := spill.Allocate(f, 0, bytes)
	if err == unix.ENOSPC {
		return notEnough(&st)
	}
	return err
}

// inTmpfs reports whether a file is in a tmpfs.
func inTmpfs(f *os.File) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &st) == nil && st.Type == unix.TMPFS_MAGIC
}

// reserveInPlace reserves space for the given number of bytes at an offset of an existing file.
// It does not change the content or size of the file. If the file is in a tmpfs, or its file
// system cannot reserve space, reserveInPlace only checks the free space.
func reserveInPlace(f *os.File, now fs.FileInfo, from, bytes int64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return nil // unknown: a lack of space shows when the output is written
	}
	if st.Type != unix.TMPFS_MAGIC {
		err := spill.AllocateBehind(f, from, bytes)
		if errors.Is(err, unix.ENOSPC) {
			err = notEnough(&st)
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}

	allocated := now.Size()
	if stat, ok := now.Sys().(*syscall.Stat_t); ok {
		allocated = min(allocated, stat.Blocks*statBlock)
	}
	if st.Blocks > 0 && from+bytes-allocated > freeBytes(&st) {
		return notEnough(&st)
	}
	return nil
}

// statBlock is the unit of Stat_t.Blocks in bytes.
const statBlock = 512

func notEnough(st *unix.Statfs_t) error {
	return fmt.Errorf("%w: only %s is free", unix.ENOSPC, human.Bytes(freeBytes(st)))
}

func freeBytes(st *unix.Statfs_t) int64 {
	return int64(st.Bavail) * int64(st.Bsize)
}

// writeBehind asks the system to start writing n bytes at offset to the disk. It does not wait,
// and ignores errors, because Sync reports them.
func writeBehind(f *os.File, offset, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}
