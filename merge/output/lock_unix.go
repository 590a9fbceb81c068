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

// isDead reports whether the owner of a file lives no more, and keeps others from finding out the same.
func isDead(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
