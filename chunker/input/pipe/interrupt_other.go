//go:build !unix

package pipe

import (
	"context"
	"io"
	"os"
)

func interruptibleFile(ctx context.Context, file *os.File) io.Reader {
	return newDetached(ctx, file)
}
