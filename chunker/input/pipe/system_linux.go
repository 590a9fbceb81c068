package pipe

import (
	"errors"
	"io"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipeOf returns the file descriptor of f if it is a pipe, and increases the capacity of the pipe.
// If the capacity cannot be increased, only speed is lost.
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

// enlarge increases the capacity of a pipe. It does nothing if w is not a pipe.
func enlarge(w io.Writer) { _, _ = pipeOf(w) }

// isRefused reports whether the system, or a policy of its administrator, does not allow splicing
// here.
func isRefused(err error) bool {
	errno, ok := err.(unix.Errno)
	return ok &&
		slices.Contains([]unix.Errno{unix.ENOSYS, unix.EPERM, unix.EINVAL, unix.EBADF}, errno)
}

// uninterrupted repeats a call that was interrupted by a signal. It returns 0 with an error.
func uninterrupted(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}
