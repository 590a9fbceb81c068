//go:build unix

package output

import (
	"errors"
	"os"
	"syscall"
)

// SyncFolder syncs the folder; some file systems cannot and need not, and say EINVAL.
func (systemFS) SyncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
