//go:build !unix

package output

import (
	"errors"
	"io/fs"
)

// SyncFolder does nothing: a folder cannot be opened to be synced.
func (systemFS) SyncFolder(string) error { return nil }

// OpenDescriptor is not supported: no name stands for a descriptor.
func (systemFS) OpenDescriptor(int) (File, error) { return nil, errors.ErrUnsupported }

// keepOwner does nothing.
func keepOwner(File, fs.FileInfo) {}
