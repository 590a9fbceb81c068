package pipe

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reader reads a pipe by way of another one that nobody else knows. To move pages from one to the other takes the first
// one's lock for a moment only, and while they are copied from the second, somebody can fill the first again.
type reader struct {
	from  syscall.RawConn
	plain io.Reader // takes over where the system does not splice
	near  [2]int    // file descriptors of the pipe in between: the end to read, and the one to write
	held  int       // bytes in it
	whole bool      // plain has taken over
}

// NewReader gives a reader of r that costs less where r is a pipe. To wait for r ends when ctx is cancelled; a Read of
// an r that is no file may go on then. It is to be closed after the last Read; r stays open.
func NewReader(ctx context.Context, r io.Reader) io.ReadCloser {
	r = interruptible(ctx, r)
	if raw, ok := pipeOf(r); ok {
		if p := newReader(raw, r); p != nil {
			return p
		}
	}
	return io.NopCloser(r)
}

// newReader gives nil where there can be no pipe in between.
func newReader(from syscall.RawConn, plain io.Reader) *reader {
	r := &reader{from: from, plain: plain}
	if err := unix.Pipe2(r.near[:], unix.O_CLOEXEC); err != nil {
		return nil
	}
	unix.FcntlInt(uintptr(r.near[1]), unix.F_SETPIPE_SZ, capacity) // a smaller one does as well
	return r
}

func (r *reader) Read(p []byte) (int, error) {
	if r.held == 0 && !r.whole {
		if err := r.fetch(); err != nil {
			return 0, err
		}
	}
	if r.whole {
		return r.plain.Read(p)
	}
	n, err := uninterrupted(func() (int, error) { return unix.Read(r.near[0], p[:min(len(p), r.held)]) })
	r.held -= n
	return n, os.NewSyscallError("read", err)
}

// fetch waits for bytes and moves them to the pipe in between. The error is io.EOF at the end.
func (r *reader) fetch() (err error) {
	if w, ok := r.plain.(*pollReader); ok {
		if err := w.wait(); err != nil {
			return err
		}
	}
	failed := r.from.Read(func(fd uintptr) bool {
		r.held, err = uninterrupted(func() (int, error) {
			n, err := unix.Splice(int(fd), nil, r.near[1], nil, capacity, 0)
			return int(n), err
		})
		return !errors.Is(err, unix.EAGAIN) // then wait until there are bytes
	})
	switch {
	case failed != nil:
		return failed
	case isRefused(err):
		r.whole = true
		return nil
	case err != nil:
		return os.NewSyscallError("splice", err)
	case r.held == 0:
		return io.EOF
	}
	return nil
}

// Close ends the pipe in between.
func (r *reader) Close() error {
	return errors.Join(unix.Close(r.near[0]), unix.Close(r.near[1]))
}
