//go:build !linux

package pipe

import (
	"context"
	"io"
)

// NewReader returns a reader of r, which stays open. Its reads end when ctx is cancelled; if r is
// not a file, a Read of r may continue in the background. Only Linux has a more efficient way to
// read from a pipe.
func NewReader(ctx context.Context, r io.Reader) io.ReadCloser {
	return io.NopCloser(interruptible(ctx, r))
}

// enlarge does nothing: only Linux can change the capacity of a pipe.
func enlarge(io.Writer) {}
