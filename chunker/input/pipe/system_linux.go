package pipe

import (
	"errors"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeOf gives access to the file descriptor of f, where that is a pipe, and makes it hold more. That is only a matter
// of speed, so a refusal is no error.
func pipeOf(f any) (raw syscall.RawConn, ok bool) {
	conn, ok := f.(syscall.Conn)
	if !ok {
		return nil, false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, false
	}
	var stat unix.Stat_t
	failed := raw.Control(func(fd uintptr) {
		err = unix.Fstat(int(fd), &stat)
		unix.FcntlInt(fd, unix.F_SETPIPE_SZ, capacity)
	})
	return raw, failed == nil && err == nil && stat.Mode&unix.S_IFMT == unix.S_IFIFO
}

// isRefused reports that the system, or a rule of its administrator, does not splice here.
func isRefused(err error) bool {
	errno, ok := err.(unix.Errno)
	return ok && slices.Contains([]unix.Errno{unix.ENOSYS, unix.EPERM, unix.EINVAL, unix.EBADF}, errno)
}

// uninterrupted calls again what a signal interrupted. The result of an error is 0.
func uninterrupted(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}
