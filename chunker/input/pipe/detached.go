package pipe

import (
	"context"
	"io"
	"os"

	"github.com/extsort/extsort/internal/safely"
)

// interruptible returns a reader whose reads end soon after ctx is cancelled. Go cannot interrupt
// a read that waits in the system, or the Read method of an unknown Reader. A regular file is
// returned unchanged.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	if ctx.Done() == nil {
		return r
	}
	file, ok := r.(*os.File)
	if !ok {
		return newDetached(ctx, r)
	}
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		return r
	}
	return interruptibleFile(ctx, file)
}

// A detachedReader reads from a reader that cannot be interrupted. If it is cancelled, it
// abandons a Read, which may continue in the background. Therefore each Read uses a buffer of its
// own first.
type detachedReader struct {
	from  io.Reader
	done  <-chan struct{}
	ended func() error // returns the cause after cancellation, otherwise nil
	buf   []byte       // belongs to the abandoned Read, if there is one
}

func newDetached(ctx context.Context, r io.Reader) *detachedReader {
	return &detachedReader{
		from:  r,
		done:  ctx.Done(),
		ended: func() error { return context.Cause(ctx) },
	}
}

func (r *detachedReader) Read(p []byte) (int, error) {
	if err := r.ended(); err != nil {
		return 0, err
	}
	if r.buf == nil {
		r.buf = make([]byte, step)
	}
	part := r.buf[:min(len(p), step)]
	came := make(chan struct{})
	var read int
	var failed error
	go func() {
		defer close(came)
		failed = safely.Call(func() (err error) {
			read, err = r.from.Read(part)
			return err
		})
	}()
	select {
	case <-came:
		return copy(p, part[:read]), failed
	case <-r.done:
		return 0, r.ended()
	}
}
