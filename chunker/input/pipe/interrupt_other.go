//go:build !unix

package pipe

import (
	"context"
	"io"
)

// Interruptible returns r as it is: there is no way here to end a read that waits.
func Interruptible(_ context.Context, r io.Reader) io.Reader { return r }
