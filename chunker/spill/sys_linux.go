package spill

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/internal/blockio"
)

// openUnlinked creates a file without a name, so that nothing is left of it however the process
// ends. If the file system does not support O_TMPFILE, the name is removed at once.
func openUnlinked(folder string) (*os.File, error) {
	fd, err := unix.Open(folder, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC|unix.O_EXCL, 0o600)
	if err == nil {
		// Blocks are read whole. The data after a block belongs to another part or is a hole, so
		// readahead does not help.
		unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM)
		return os.NewFile(uintptr(fd), filepath.Join(folder, "(spill)")), nil
	}
	return createAndRemove(folder)
}

// Uncache implements uncacheable.
func (d *diskFile) Uncache() bool { return blockio.Uncache(d.file) }

// Allocate implements uncacheable. Concurrent writers to an allocated range do not wait for each
// other.
func (d *diskFile) Allocate(offset, bytes int64) error {
	return os.NewSyscallError("fallocate", Allocate(d.file, offset, bytes))
}

// Allocate reserves disk space for a range of a file that will be written. If the file system
// does not support that, it does nothing.
func Allocate(f *os.File, offset, bytes int64) error {
	for {
		switch err := unix.Fallocate(int(f.Fd()), 0, offset, bytes); err {
		case unix.EINTR:
		case unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL, unix.ENODEV, unix.ESPIPE:
			return nil
		default:
			return err
		}
	}
}

// AllocateBehind reserves disk space for a range that may be beyond the end of a file. It changes
// neither the content nor the size of the file, even if it fails. It returns
// errors.ErrUnsupported if the file system does not support that.
func AllocateBehind(f *os.File, offset, bytes int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for {
		switch err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, offset, bytes); err {
		case unix.EINTR:
		case unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL, unix.ENODEV, unix.ESPIPE:
			return errors.ErrUnsupported
		case nil:
			return nil
		default:
			punch(f, info.Size(), max(offset+bytes-info.Size(), 1))
			return err
		}
	}
}

// punch releases the space of a range of f. Data of the range that has not been written to the
// disk is discarded.
func punch(f *os.File, offset, bytes int64) {
	unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, bytes)
}

// InMemory reports whether the files of a directory are never written to a disk, as far as the
// system knows.
func InMemory(folder string) bool {
	var st unix.Statfs_t
	if unix.Statfs(folder, &st) != nil {
		return false
	}
	// the field has 4 or 8 bytes, signed or unsigned, depending on the processor
	kind := uint32(st.Type)
	return kind == unix.TMPFS_MAGIC || kind == unix.RAMFS_MAGIC
}

// SyncFileSystem makes everything in the file system of f durable, including names. It is for
// directories that cannot be read and therefore cannot be synced alone.
func SyncFileSystem(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.Syncfs(int(fd)) })
	return errors.Join(err, os.NewSyscallError("syncfs", failed))
}
