//go:build unix

package pipe

import (
	"cmp"
	"context"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// interruptibleFile returns a reader of a file other than a regular file. Its reads end soon
// after ctx is cancelled.
func interruptibleFile(ctx context.Context, file *os.File) io.Reader {
	return &pollReader{file: file, ended: func() error { return context.Cause(ctx) }}
}

// A pollReader waits for its file to become readable and regularly checks for cancellation.
type pollReader struct {
	file  *os.File
	ended func() error // returns the cause after cancellation, otherwise nil
}

const pollMilliseconds = 50

// SyscallConn allows the pipe to be spliced.
func (r *pollReader) SyscallConn() (syscall.RawConn, error) {
	return r.file.SyscallConn()
}

func (r *pollReader) Read(p []byte) (int, error) {
	if err := r.wait(); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}

// wait returns nil when there is data to read or the end is reached. Otherwise it returns the
// error for Read.
func (r *pollReader) wait() error {
	raw, err := r.file.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) {
		for ready := 0; ready <= 0; {
			if err = r.ended(); err != nil {
				return
			}
			ready, err = unix.Poll([]unix.PollFd{{
				Fd:     int32(fd),
				Events: unix.POLLIN,
			}}, pollMilliseconds)
			if err != nil && err != unix.EINTR {
				err = os.NewSyscallError("poll", err)
				return
			}
		}
	})
	return cmp.Or(failed, err)
}
