//go:build !linux

package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// openUnnamed is not supported: outputs have a temporary name from the start.
func openUnnamed(*os.File, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

// link has nothing to name.
func link(_, _ *os.File, _ string) error { return errors.ErrUnsupported }

// reserve promises nothing: a full disk shows when it is written to.
func reserve(f *os.File, _ int64, _ int) (at io.WriterAt, unmap func(), err error) {
	return f, func() {}, nil
}

// reserveInPlace promises nothing either.
func reserveInPlace(*os.File, fs.FileInfo, int64, int64) error { return nil }

// writeBehind leaves the time to the system.
func writeBehind(*os.File, int64, int64) {}

// syncData leaves all to the end.
func syncData(*os.File) error { return nil }
