//go:build unix

package output

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/chunker/spill"
)

// checkSizeLimit returns an error if the process may not write a file of the given size. Not
// every file system reports this before the write.
func checkSizeLimit(bytes int64) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && uint64(bytes) > uint64(limit.Cur) {
		return unix.EFBIG
	}
	return nil
}

// notReplaceable is the message for a file that checkRemovable refuses. Its arguments are the
// directory and the error.
const notReplaceable = "directory %s does not allow replacing it: in a sticky directory only its owner " +
	"may (name another output): %w"

// checkRemovable returns an error if a file of the directory may not be removed or replaced. It
// does not remove the file: it asks the system to remove it as a directory. The system may check
// the permissions before it checks the type of the file.
func checkRemovable(folder *os.File, name string) error {
	err := unix.Unlinkat(int(folder.Fd()), name, unix.AT_REMOVEDIR)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return err
	}
	return nil // usually ENOTDIR; the rename reports other errors
}

// openDescriptor duplicates an open descriptor, so that the duplicate can be closed.
func openDescriptor(number int) (*os.File, error) {
	fd, err := duplicate(uintptr(number))
	if err != nil {
		return nil, err
	}
	if flags, _ := unix.FcntlInt(
		uintptr(fd), unix.F_GETFL, 0,
	); flags&unix.O_ACCMODE == unix.O_RDONLY {
		unix.Close(fd)
		return nil, unix.EBADF // it is not open for writing
	}
	return os.NewFile(uintptr(fd), "/dev/fd/"+strconv.Itoa(number)), nil
}

// duplicate duplicates a descriptor. Child processes do not inherit the duplicate.
func duplicate(fd uintptr) (int, error) {
	return unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
}

// closeCopy closes a duplicate of f's descriptor. On this event a network file system writes its
// cached data and reports errors. f stays open, because it belongs to the caller.
func closeCopy(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var closing error
	err = raw.Control(func(fd uintptr) {
		if other, err := duplicate(fd); err == nil {
			closing = unix.Close(other)
		}
	})
	return errors.Join(err, closing)
}

// appends reports whether every write goes to the end of the file, as with >> FILE.
func appends(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var flags int
	err = raw.Control(func(fd uintptr) { flags, _ = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	return err == nil && flags&unix.O_APPEND != 0
}

// inodeOf returns the inode number of a file.
func inodeOf(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Ino
}

// isKept reports whether info may describe the kept output. It may also be a copy, as after
// moving a directory to another disk, if no other user may write to it. A file with several names
// is not the kept output.
func isKept(info fs.FileInfo, kept *spill.KeptOutput) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || stat.Nlink != 1 {
		return false
	}
	return stat.Ino == kept.Inode || int(stat.Uid) == os.Geteuid() && info.Mode() == kept.Mode
}

// renamesOpen is true: a file may be renamed or removed while it is open, and therefore while it
// is locked.
const renamesOpen = true

// lock marks a file as owned by a running process, until the file is closed or the process ends
// for whatever reason.
func lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}

// isDead reports whether the owner of a file no longer runs. It locks the file, so only one
// caller gets this answer.
func isDead(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
