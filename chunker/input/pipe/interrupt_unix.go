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

// interruptibleFile makes reads of a file that is no regular one end soon after ctx is cancelled.
func interruptibleFile(ctx context.Context, file *os.File) io.Reader {
	return &pollReader{file: file, ended: func() error { return context.Cause(ctx) }}
}

// pollReader waits for its file, and looks now and then whether that is still wanted.
type pollReader struct {
	file  *os.File
	ended func() error // why nobody waits any more; nil: somebody does
}

const pollMilliseconds = 50

// SyscallConn lets the pipe be spliced.
func (r *pollReader) SyscallConn() (syscall.RawConn, error) { return r.file.SyscallConn() }

func (r *pollReader) Read(p []byte) (int, error) {
	if err := r.wait(); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}

// wait returns when there is something to read, or the end, or with the error that Read is to end with.
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
			ready, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, pollMilliseconds)
			if err != nil && err != unix.EINTR {
				err = os.NewSyscallError("poll", err)
				return
			}
		}
	})
	return cmp.Or(failed, err)
}
