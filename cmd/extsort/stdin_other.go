//go:build !unix

package main

import (
	"context"
	"io"
)

// interruptible returns stdin as it is: there is no way here to end a read that waits.
func interruptible(_ context.Context, stdin io.Reader) io.Reader { return stdin }
