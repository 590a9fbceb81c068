//go:build !unix

package pipe

import (
	"context"
	"io"
	"os"
)

// interruptible makes reads end soon after ctx is cancelled. A regular file is returned as it is.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	if file, ok := r.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			return r
		}
	}
	if ctx.Done() == nil {
		return r
	}
	return newDetached(ctx, r)
}
