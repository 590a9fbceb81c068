package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/internal/human"
)

// openUnnamed uses O_TMPFILE. It is not supported by some file systems, and useless where /proc is not mounted,
// because there the file could not be named at the end.
func openUnnamed(folder *os.File, perm fs.FileMode) (*os.File, error) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return nil, errors.ErrUnsupported
	}
	fd, err := unix.Openat(int(folder.Fd()), ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm.Perm()))
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), folder.Name()), nil
	case unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL, unix.ENOSYS:
		return nil, errors.ErrUnsupported
	}
	return nil, err
}

// link names the file that openUnnamed made, in a folder.
func link(f, folder *os.File, name string) error {
	self := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	err := unix.Linkat(unix.AT_FDCWD, self, int(folder.Fd()), name, unix.AT_SYMLINK_FOLLOW)
	return os.NewSyscallError("link", err)
}

// reserve allocates blocks for the file, and says how many are free if that fails. In a file system that lies in memory
// one thread would fill all of it with zeros, which the writers then do again; there it only asks. What it gives is
// written to instead of the file, and unmap undoes it when no write is under way.
func reserve(f *os.File, bytes int64, writers int) (at io.WriterAt, unmap func(), err error) {
	at, unmap = f, func() {}
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) == nil && st.Type == unix.TMPFS_MAGIC {
		if st.Blocks > 0 && freeBytes(&st) < bytes {
			err = notEnough(&st)
		} else if h := newHugePages(f, bytes, writers); h != nil {
			at, unmap = h, h.close
		}
		return at, unmap, err
	}
	if err = spill.Allocate(f, 0, bytes); err == unix.ENOSPC {
		err = notEnough(&st)
	}
	return at, unmap, err
}

// reserveInPlace makes room for bytes from an offset of a file that has content, which it leaves as it is, as well as
// its size. In a file system that lies in memory, or that cannot reserve, it only asks how much is free.
func reserveInPlace(f *os.File, now fs.FileInfo, from, bytes int64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil {
		return nil // what cannot be known shows when it is written
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

// statBlock is the unit of the number of blocks of a file.
const statBlock = 512

func notEnough(st *unix.Statfs_t) error {
	return fmt.Errorf("%w: only %s is free", unix.ENOSPC, human.Bytes(freeBytes(st)))
}

func freeBytes(st *unix.Statfs_t) int64 { return int64(st.Bavail) * int64(st.Bsize) }

// writeBehind lets the system begin to write n bytes at offset to the disk. It does not wait, and needs no error: Sync
// would report it.
func writeBehind(f *os.File, offset, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}

// syncData makes what was written to f durable, but not what need not be known to read it.
func syncData(f *os.File) error { return os.NewSyscallError("fdatasync", unix.Fdatasync(int(f.Fd()))) }
