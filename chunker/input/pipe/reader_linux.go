package pipe

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A reader reads a pipe through a second, private pipe. Moving pages from the first pipe to the
// second locks the first only briefly. While the pages are copied from the second pipe, another
// process can fill the first again.
type reader struct {
	from      syscall.RawConn
	plain     io.Reader // used if the system cannot splice
	private   [2]int    // file descriptors of the private pipe: its read end and its write end
	heldBytes int       // number of bytes in the private pipe
	usesPlain bool      // plain is in use
}

// NewReader returns a reader of r that is more efficient if r is a pipe. Its reads end when ctx
// is cancelled; if r is not a file, a Read of r may continue in the background. The caller must
// close the reader after the last Read; r stays open.
func NewReader(ctx context.Context, r io.Reader) io.ReadCloser {
	r = interruptible(ctx, r)
	if raw, ok := pipeOf(r); ok {
		if p := newReader(raw, r); p != nil {
			return p
		}
	}
	return io.NopCloser(r)
}

// newReader returns nil if no private pipe can be created.
func newReader(from syscall.RawConn, plain io.Reader) *reader {
	r := &reader{from: from, plain: plain}
	if err := unix.Pipe2(r.private[:], unix.O_CLOEXEC); err != nil {
		return nil
	}
	unix.FcntlInt(uintptr(r.private[1]), unix.F_SETPIPE_SZ, capacity) // a smaller pipe works as well
	return r
}

func (r *reader) Read(p []byte) (int, error) {
	if r.heldBytes == 0 && !r.usesPlain {
		if err := r.fetch(); err != nil {
			return 0, err
		}
	}
	if r.usesPlain {
		return r.plain.Read(p)
	}
	n, err := uninterrupted(func() (int, error) {
		return unix.Read(r.private[0], p[:min(len(p), r.heldBytes)])
	})
	r.heldBytes -= n
	return n, os.NewSyscallError("read", err)
}

// fetch waits for bytes and moves them to the private pipe. It returns io.EOF at the end.
func (r *reader) fetch() (err error) {
	if w, ok := r.plain.(*pollReader); ok {
		if err := w.wait(); err != nil {
			return err
		}
	}
	failed := r.from.Read(func(fd uintptr) bool {
		r.heldBytes, err = uninterrupted(func() (int, error) {
			n, err := unix.Splice(int(fd), nil, r.private[1], nil, capacity, 0)
			return int(n), err
		})
		return !errors.Is(err, unix.EAGAIN) // false waits until there are bytes
	})
	switch {
	case failed != nil:
		return failed
	case isRefused(err):
		r.usesPlain = true
		return nil
	case err != nil:
		return os.NewSyscallError("splice", err)
	case r.heldBytes == 0:
		return io.EOF
	}

	return nil
}

// Close closes the private pipe.
func (r *reader) Close() error {
	return errors.Join(unix.Close(r.private[0]), unix.Close(r.private[1]))
}
