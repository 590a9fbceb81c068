//go:build !unix

package output

import (
	"errors"
	"io/fs"
)

// owner is not kept here.
type owner struct{}

func ownerOf(fs.FileInfo) owner { return owner{} }

func (owner) keep(File) {}

// OpenDescriptor is not supported: no name stands for a descriptor.
func (systemFS) OpenDescriptor(int) (File, error) { return nil, errors.ErrUnsupported }
