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

// interruptible makes reads end soon after ctx is cancelled: Go cannot interrupt a read that waits in the system, or
// somebody else's Reader. A regular file is returned as it is.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	if ctx.Done() == nil {
		return r
	}
	file, ok := r.(*os.File)
	if !ok {
		return newDetached(ctx, r)
	}
	if info, err := file.Stat(); err != nil || info.Mode().IsRegular() {
		return r
	}
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
