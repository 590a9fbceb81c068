package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks a file unless another process holds the lock.
func Try(file *os.File, kind Kind) (locked bool, err error) {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if kind == Exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err = windows.LockFileEx(windows.Handle(file.Fd()), how, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}
