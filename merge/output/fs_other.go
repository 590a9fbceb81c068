//go:build !linux

package output

import (
	"errors"
	"io/fs"
	"os"
)

// openUnnamed is not supported: outputs have a temporary name from the start.
func openUnnamed(*os.File, fs.FileMode) (*os.File, error) {
	return nil, errors.ErrUnsupported
}

// link is not supported, because there are no unnamed files.
func link(_, _ *os.File, _ string) error {
	return errors.ErrUnsupported
}

// reserve does nothing: a full disk shows when the output is written.
func reserve(*os.File, int64) error { return nil }

// newHugePages returns false: only Linux has a tmpfs.
func newHugePages(rawFile, int64, int) (fileWriter, bool) { return nil, false }

// reserveInPlace does nothing.
func reserveInPlace(*os.File, fs.FileInfo, int64, int64) error {
	return nil
}

// writeBehind does nothing: the system decides when to write.
func writeBehind(*os.File, int64, int64) {}
