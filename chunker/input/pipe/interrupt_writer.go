package pipe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/extsort/extsort/internal/safely"
)

// NewWriter returns a writer to w. If w is a pipe, it increases the capacity of the pipe. Close
// leaves w open.
func NewWriter(w io.Writer) io.WriteCloser {
	enlarge(w)
	return unclosed{w}
}

// NewInterruptible is NewWriter for a writer whose Write ends soon after ctx is cancelled, if that
// is possible. It is possible for a file that Go polls, such as a pipe created by this process, and
// for writers other than files. An abandoned Write may continue in the background, so it works on a
// copy of the bytes.
func NewInterruptible(ctx context.Context, w io.Writer) io.WriteCloser {
	plain := NewWriter(w)
	if ctx.Done() == nil {
		return plain
	}
	switch to := w.(type) {
	case *bytes.Buffer:
		return plain
	case *os.File:
		if to.SetWriteDeadline(time.Time{}) != nil {
			return plain
		}
		stop := context.AfterFunc(ctx, func() { _ = to.SetWriteDeadline(time.Unix(1, 0)) })
		return &deadlineWriter{
			ctx:  ctx,
			file: to,
			stop: stop,
		}
	}

	return &detachedWriter{ctx: ctx, to: w}
}

// A deadlineWriter writes to a file that gets a deadline when ctx is cancelled.
type deadlineWriter struct {
	ctx  context.Context
	file *os.File
	stop func() bool
}

func (w *deadlineWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) && w.ctx.Err() != nil {
		err = context.Cause(w.ctx)
	}
	return n, err
}

func (w *deadlineWriter) Close() error {
	if !w.stop() {
		_ = w.file.SetWriteDeadline(time.Time{}) // the file belongs to the caller
	}
	return nil
}

// step is the number of bytes that a detachedWriter copies and writes at a time.
const step = 128 << 10

// A detachedWriter writes in steps to a writer that cannot be interrupted.
type detachedWriter struct {
	ctx  context.Context
	to   io.Writer
	buf  []byte // belongs to the abandoned Write, if there is one
	left bool   // a Write was abandoned
}

func (w *detachedWriter) Write(p []byte) (written int, err error) {
	for written < len(p) && err == nil {
		var n int
		n, err = w.step(p[written:min(len(p), written+step)])
		written += n
	}
	return written, err
}

func (w *detachedWriter) step(p []byte) (int, error) {
	if err := context.Cause(w.ctx); err != nil || w.left {
		return 0, context.Cause(w.ctx)
	}
	w.buf = append(w.buf[:0], p...)
	went := make(chan struct{})
	var written int
	var failed error
	go func() {
		defer close(went)
		failed = safely.Call(func() (err error) {
			written, err = w.to.Write(w.buf)
			return err
		})
	}()
	select {
	case <-went:
		return written, failed
	case <-w.ctx.Done():
		w.left = true
		return 0, context.Cause(w.ctx)
	}
}

// Close does not wait for an abandoned Write.
func (w *detachedWriter) Close() error { return nil }
