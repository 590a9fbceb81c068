//go:build !linux

package pipe

import (
	"context"
	"io"
)

// NewReader gives a reader of r, which stays open. To wait for r ends when ctx is cancelled; a Read of an r that is no
// file may go on then. Only Linux has a better way to read from a pipe.
func NewReader(ctx context.Context, r io.Reader) io.ReadCloser {
	return io.NopCloser(interruptible(ctx, r))
}

// NewWriter gives w: only Linux has a better way to write to a pipe.
func NewWriter(w io.Writer, memoryBytes int64) io.WriteCloser { return unclosed{w} }
