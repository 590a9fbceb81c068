//go:build unix

package pipe

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Interruptible makes reads from a pipe or a terminal end when ctx is cancelled: Go cannot interrupt a read that waits
// in the system. A regular file is returned as it is. What it gives in close, if not nil, is to be closed after the
// last Read; r stays open.
func Interruptible(ctx context.Context, r io.Reader) (reader io.Reader, close io.Closer) {
	file, ok := r.(*os.File)
	if !ok || ctx.Done() == nil {
		return r, nil
	}
	if info, err := file.Stat(); err != nil || info.Mode().IsRegular() {
		return r, nil
	}
	wake, waker, err := os.Pipe()
	if err != nil {
		return r, nil
	}
	p := &pollReader{file: file, wake: wake, waker: waker, cause: func() error { return context.Cause(ctx) }}
	p.stop = context.AfterFunc(ctx, func() { waker.Close() })
	return p, p
}

// pollReader waits for its file and for the end of wake, whichever comes first.
type pollReader struct {
	file        *os.File
	wake, waker *os.File // the ends of a pipe
	cause       func() error
	stop        func() bool // forgets to close waker when the context is cancelled
}

// SyscallConn lets the pipe be made larger, and be spliced.
func (r *pollReader) SyscallConn() (syscall.RawConn, error) { return r.file.SyscallConn() }

func (r *pollReader) Read(p []byte) (int, error) {
	if err := r.Wait(); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}

// Wait implements Waiter.
func (r *pollReader) Wait() error {
	raw, err := r.file.SyscallConn()
	if err != nil {
		return err
	}
	failed := raw.Control(func(fd uintptr) { err = r.poll(int32(fd)) })
	return errors.Join(failed, err)
}

func (r *pollReader) poll(fd int32) error {
	waitFor := []unix.PollFd{
		{Fd: fd, Events: unix.POLLIN},
		{Fd: int32(r.wake.Fd()), Events: unix.POLLIN},
	}
	for {
		_, err := unix.Poll(waitFor, -1)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return os.NewSyscallError("poll", err)
		case waitFor[1].Revents != 0:
			return r.cause()
		default:
			return nil
		}
	}
}

// Close ends the pipe that wakes.
func (r *pollReader) Close() error {
	if r.stop() {
		r.waker.Close()
	}
	return r.wake.Close()
}
