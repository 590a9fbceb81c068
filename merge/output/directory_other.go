//go:build !linux

package output

import (
	"errors"
	"os"
)

// A pathDirectory exists only on Linux.
type pathDirectory struct {
	directoryFiles
	folder *os.File
}

// openPath returns an error: on this system, the directory must be readable.
func openPath(string) (*pathDirectory, error) {
	return nil, errors.ErrUnsupported
}
