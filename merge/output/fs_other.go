//go:build !linux

package output

import (
	"errors"
	"io/fs"
	"os"
)

type systemFile struct{ *os.File }

func newSystemFile(f *os.File) File { return systemFile{f} }

// OpenUnnamed is not supported: outputs have a temporary name from the start.
func (systemFS) OpenUnnamed(string, fs.FileMode) (File, error) { return nil, errors.ErrUnsupported }

// Link has nothing to name.
func (systemFS) Link(File, string) error { return errors.ErrUnsupported }

// Reserve promises nothing: a full disk shows when it is written to.
func (systemFile) Reserve(int64, int) error { return nil }

// WriteBehind leaves the time to the system.
func (systemFile) WriteBehind(int64, int64) {}
