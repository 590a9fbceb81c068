package spill

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/chunker/plan"
)

// openUnlinked makes a file in directory that has no name, so that nothing is left of it however the process
// ends. Where the file system has no O_TMPFILE, the name is removed at once.
func openUnlinked(folder string) (*os.File, error) {
	fd, err := unix.Open(folder, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC|unix.O_EXCL, 0o600)
	if err == nil {
		// Blocks are read whole, and what follows one in the file is another part's, or a hole.
		unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM)
		return os.NewFile(uintptr(fd), filepath.Join(folder, "(spill)")), nil
	}
	return createAndRemove(folder)
}

// Uncache implements uncacheable.
func (d *diskFile) Uncache() bool { return Uncache(d.file) }

// Uncache has a file read and written past the page cache, where its file system tells that SpillAlign is enough of
// alignment.
func Uncache(f *os.File) bool {
	fd, about := int(f.Fd()), unix.Statx_t{}
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &about)
	if err != nil || about.Mask&unix.STATX_DIOALIGN == 0 {
		return false
	}
	if a := about.Dio_offset_align; a == 0 || a > plan.SpillAlign || about.Dio_mem_align > plan.SpillAlign {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_DIRECT)
	}
	return err == nil
}

// Direct opens a file once more, to read or write it past the page cache; nil: that cannot be done.
func Direct(f *os.File, flag int) *os.File {
	direct, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), flag, 0)
	if err != nil || Uncache(direct) {
		return direct
	}
	direct.Close()
	return nil
}

// Allocate implements uncacheable: writers of what is allocated do not wait for each other.
func (d *diskFile) Allocate(offset, bytes int64) error {
	return os.NewSyscallError("fallocate", Allocate(d.file, offset, bytes))
}

// Allocate makes room for bytes of a file that will be written, where its file system can do that beforehand.
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

// AllocateBehind makes room for bytes of a file from an offset, where there are none yet. Neither what the file has nor
// its size changes, also not if that fails. errors.ErrUnsupported: its file system cannot do that.
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

// punch gives the space of a stretch of f back. What was not yet written to the disk then never is.
func punch(f *os.File, offset, bytes int64) {
	unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, bytes)
}

// InMemory reports whether what lies in folder never goes to a disk, as far as the system tells.
func InMemory(folder string) bool {
	var st unix.Statfs_t
	if unix.Statfs(folder, &st) != nil {
		return false
	}
	kind := uint32(st.Type) // of 4 or 8 bytes, signed or not, as the processor has it
	return kind == unix.TMPFS_MAGIC || kind == unix.RAMFS_MAGIC
}

// SyncFileSystem makes all of the file system that holds f durable, names included. A directory that cannot be read
// cannot be synced alone.
func SyncFileSystem(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.Syncfs(int(fd)) })
	return errors.Join(err, os.NewSyscallError("syncfs", failed))
}
