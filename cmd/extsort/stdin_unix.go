//go:build unix

package main

import (
	"context"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// interruptible makes reads from a pipe or a terminal end when ctx is cancelled: Go cannot interrupt a read that
// waits in the system, and a sort that waits for input should die of Ctrl-C at once. A regular file never waits
// for long, and is returned as it is.
func interruptible(ctx context.Context, stdin io.Reader) io.Reader {
	file, ok := stdin.(*os.File)
	if !ok {
		return stdin
	}
	if info, err := file.Stat(); err != nil || info.Mode().IsRegular() {
		return stdin
	}
	wake, waker, err := os.Pipe()
	if err != nil {
		return stdin
	}
	context.AfterFunc(ctx, func() { waker.Close() })
	return &pollReader{file: file, wake: wake, cause: func() error { return context.Cause(ctx) }}
}

// pollReader waits for its file and for the end of wake, whichever comes first.
type pollReader struct {
	file  *os.File
	wake  *os.File
	cause func() error
}

// SyscallConn lets the pipe be made larger.
func (r *pollReader) SyscallConn() (syscall.RawConn, error) { return r.file.SyscallConn() }

func (r *pollReader) Read(p []byte) (int, error) {
	if err := r.Wait(); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}

// Wait implements pipe.Waiter.
func (r *pollReader) Wait() error {
	waitFor := []unix.PollFd{
		{Fd: int32(r.file.Fd()), Events: unix.POLLIN},
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
