package output

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/extsort/extsort/device"
)

// A stream is an output that can only be written from beginning to end, such as a FIFO, a terminal,
// /dev/null or /dev/stdout. It is written directly, so written data cannot be taken back.
type stream struct {
	rawFile
	size   atomic.Int64 // number of bytes written
	closed bool
}

// openStream opens a stream.
func openStream(ctx context.Context, ops operations, name string, at place) (Output, error) {
	s := &stream{rawFile: rawFile{ops: ops, name: name}}
	var err error
	switch {
	case at.isDescriptor && at.descriptor == 1:
		s.file = os.Stdout // stays open
	case at.isDescriptor:
		s.file, err = openDescriptor(at.descriptor) // opening it by name would write from its start
	case at.isFIFO():
		s.file, err = attempt(ops, "open output", func() (*os.File, error) {
			return openFIFO(ctx, at.path)
		})
	default:
		s.file, err = attempt(ops, "open output", func() (*os.File, error) {
			return os.OpenFile(at.path, os.O_WRONLY, 0)
		})
	}

	if err != nil {
		return nil, createError(name, err)
	}
	return s, nil
}

// fifoPause is the interval between checks for a reader of a FIFO.
const fifoPause = 10 * time.Millisecond

// openFIFO waits until a process opens the FIFO for reading. It polls, because a blocking open
// could not be cancelled.
func openFIFO(ctx context.Context, name string) (*os.File, error) {
	for {
		f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		select {
		case <-time.After(fifoPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Write writes p after the data of earlier calls.
func (s *stream) Write(p []byte) (int, error) {
	n, err := attempt(s.ops, "write output", func() (int, error) { return s.file.Write(p) })
	end := s.size.Add(int64(n))
	if err != nil {
		err = writeError(s.name, end, err)
	}
	return n, err
}

// Commit closes the stream. The size is ignored, because everything has been written.
func (s *stream) Commit(context.Context, int64) error { return s.Abort() }

// Abort closes the stream.
func (s *stream) Abort() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if err := s.close(); err != nil {
		return fmt.Errorf("close output %s: %w", s.name, device.WithoutPath(err))
	}
	return nil
}

// close closes the file. Standard output stays open, because it belongs to the process.
func (s *stream) close() error {
	if s.file == os.Stdout {
		return s.ops.perform("close output", func() error { return closeCopy(s.file) })
	}
	// the file is closed even if a test makes this operation fail
	return errors.Join(s.ops.perform("close output", func() error { return nil }), s.file.Close())
}
