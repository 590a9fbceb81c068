//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try locks a file unless another process holds the lock.
func Try(file *os.File, kind Kind) (locked bool, err error) {
	how := unix.LOCK_EX
	if kind == Shared {
		how = unix.LOCK_SH
	}
	err = unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("flock", err)
}
