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

// mayHave reports that the process may write no file of that size. Not every file system says so before it is written.
func mayHave(bytes int64) error {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && uint64(bytes) > uint64(limit.Cur) {
		return unix.EFBIG
	}
	return nil
}

// mayRemove reports that a file may not be removed from the folder or replaced in it, without doing so: a system that
// is asked to remove it as a folder may look first at the rights, and only then at what it is.
func mayRemove(folder *os.File, name string) error {
	err := unix.Unlinkat(int(folder.Fd()), name, unix.AT_REMOVEDIR)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return err
	}
	return nil // ENOTDIR; others are for the rename to report
}

// openDescriptor opens a second descriptor of the same open file, so that it can be closed.
func openDescriptor(number int) (*os.File, error) {
	fd, err := duplicate(uintptr(number))
	if err != nil {
		return nil, err
	}
	if flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); flags&unix.O_ACCMODE == unix.O_RDONLY {
		unix.Close(fd)
		return nil, unix.EBADF // it is not open for writing
	}
	return os.NewFile(uintptr(fd), "/dev/fd/"+strconv.Itoa(number)), nil
}

// duplicate makes a second descriptor of an open file, which no child inherits.
func duplicate(fd uintptr) (int, error) { return unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }

// closeCopy closes a copy of f's descriptor, upon which a network file system writes what it still has and says what
// became of it. f stays open: it is the caller's.
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

// appends reports whether all that is written goes to the end of the file (>> FILE).
func appends(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var flags int
	err = raw.Control(func(fd uintptr) { flags, _ = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	return err == nil && flags&unix.O_APPEND != 0
}

// inodeOf is the number of a file in its file system.
func inodeOf(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Ino
}

// isKept reports whether a file may be the one that was kept. A copy of it may be, as of a folder that was moved to
// another disk, if nobody else may write to it. A file with several names is another one.
func isKept(info fs.FileInfo, kept *spill.KeptOutput) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || stat.Nlink != 1 {
		return false
	}
	return stat.Ino == kept.Inode || int(stat.Uid) == os.Geteuid() && info.Mode() == kept.Mode
}

// renamesOpen: a file may be renamed or removed while it is open, and so while it is locked.
const renamesOpen = true

// lock says that the owner of a file lives, until it is closed or the process ends, however that happens.
func lock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			return err
		}
	}
}

// isDead reports whether the owner of a file lives no more, and keeps others from finding out the same.
func isDead(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
