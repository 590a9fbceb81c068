//go:build unix && !aix

package output

import (
	"os"

	"golang.org/x/sys/unix"
)

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

// removeDead removes a regular file from the folder unless its owner lives.
func removeDead(folder *os.File, name string) {
	at := int(folder.Fd())
	fd, err := unix.Openat(at, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return // as a rule there is none
	}
	defer unix.Close(fd)
	var opened, named unix.Stat_t
	if unix.Fstat(fd, &opened) != nil || opened.Mode&unix.S_IFMT != unix.S_IFREG ||
		unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	if unix.Fstatat(at, name, &named, unix.AT_SYMLINK_NOFOLLOW) == nil && named.Dev == opened.Dev &&
		named.Ino == opened.Ino {
		_ = unix.Unlinkat(at, name, 0)
	}
}
