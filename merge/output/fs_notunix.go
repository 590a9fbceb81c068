//go:build !unix

package output

import (
	"errors"
	"io/fs"
	"os"

	"github.com/extsort/extsort/chunker/spill"
)

// checkSizeLimit always succeeds: this system has no limit on the size of a file.
func checkSizeLimit(int64) error { return nil }

// checkRemovable always succeeds: an error shows when the file is renamed.
func checkRemovable(*os.File, string) error { return nil }

// openDescriptor is not supported: on this system no name refers to a descriptor.
func openDescriptor(int) (*os.File, error) {
	return nil, errors.ErrUnsupported
}

func closeCopy(*os.File) error { return nil }

// appends reports whether the file was opened in append mode, which forbids WriteAt.
func appends(f *os.File) bool {
	_, err := f.WriteAt(nil, 0)
	return err != nil
}

// inodeOf returns 0: this system has no inode numbers.
func inodeOf(fs.FileInfo) uint64 { return 0 }

// isKept reports whether info may describe the kept output.
func isKept(info fs.FileInfo, _ *spill.KeptOutput) bool {
	return info.Mode().IsRegular()
}

// renamesOpen is false: a file must be closed before it is renamed or removed.
const renamesOpen = false

// lock is not supported. Temporary names are therefore random, and the user has to remove the
// leftovers of a killed process.
func lock(*os.File) error { return errors.ErrUnsupported }

func isDead(*os.File) bool { return false }
