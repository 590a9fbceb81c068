//go:build !linux

package pipe

import (
	"io"
	"syscall"
)

// Enlarge makes a pipe hold more, where the system can do that.
func Enlarge(syscall.Conn) {}

// NewReader gives r: only Linux has a better way to read from a pipe.
func NewReader(r io.Reader) (reader io.Reader, close io.Closer) { return r, nil }

// NewWriter gives w: only Linux has a better way to write to a pipe.
func NewWriter(w io.Writer, memoryBytes int64) io.WriteCloser { return unclosed{w} }
