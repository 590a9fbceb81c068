//go:build !unix

package output

import (
	"errors"
	"io/fs"
	"os"

	"github.com/extsort/extsort/chunker/spill"
)

// mayHave knows no limit.
func mayHave(int64) error { return nil }

// mayRemove leaves it to the rename to find out.
func mayRemove(*os.File, string) error { return nil }

// openDescriptor is not supported: no name stands for a descriptor.
func openDescriptor(int) (*os.File, error) { return nil, errors.ErrUnsupported }

func closeCopy(*os.File) error { return nil }

// appends reports whether the file was opened to append to it, which forbids WriteAt.
func appends(f *os.File) bool {
	_, err := f.WriteAt(nil, 0)
	return err != nil
}

// inodeOf knows no number of a file.
func inodeOf(fs.FileInfo) uint64 { return 0 }

// isKept reports whether a file may be the one that was kept.
func isKept(info fs.FileInfo, _ *spill.KeptOutput) bool { return info.Mode().IsRegular() }

// renamesOpen: a file has to be closed before it is renamed or removed.
const renamesOpen = false

// lock is not supported: temporary names are random, and what a killed run leaves is the user's to remove.
func lock(*os.File) error { return errors.ErrUnsupported }

func isDead(*os.File) bool { return false }
