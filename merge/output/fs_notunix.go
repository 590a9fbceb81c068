//go:build !unix

package output

import (
	"errors"
	"io/fs"
	"os"
)

// mayHave knows no limit.
func mayHave(int64) error { return nil }

// mayRemove leaves it to the rename to find out.
func mayRemove(*os.File, string) error { return nil }

// openDescriptor is not supported: no name stands for a descriptor.
func openDescriptor(int) (*os.File, error) { return nil, errors.ErrUnsupported }

func closeCopy(*os.File) error { return nil }

func keepOwner(*os.File, fs.FileInfo) {}
