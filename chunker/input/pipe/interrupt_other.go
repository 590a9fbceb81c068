//go:build !unix

package pipe

import (
	"context"
	"io"
)

// interruptible returns r as it is: there is no way here to end a read that waits.
func interruptible(_ context.Context, r io.Reader) io.Reader { return r }
