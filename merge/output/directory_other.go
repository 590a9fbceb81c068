//go:build !linux

package output

import (
	"errors"
	"os"
)

// A pathDirectory exists on Linux only.
type pathDirectory struct {
	directory
	folder *os.File
}

// openPath is not supported: a directory has to be readable.
func openPath(string) (*pathDirectory, error) { return nil, errors.ErrUnsupported }
