package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"

	"github.com/extsort/extsort/chunker/spill"
)

// checkSizeLimit always succeeds: this system has no limit on the size of a file.
func checkSizeLimit(int64) error { return nil }

// notReplaceable is the message for a file that checkRemovable refuses. Its arguments are the
// directory and the error.
const notReplaceable = "directory %s does not allow replacing it: close it in other programs, or " +
	"name another output: %w"

// checkRemovable returns an error if a file of the directory may not be removed or replaced, for
// example because another program has it open. It asks for permission to remove the file, but does
// not remove it. This process opens its inputs so that they do not prevent it.
func checkRemovable(folder *os.File, name string) error {
	path := filepath.Join(folder.Name(), name)
	utf16, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	file, err := windows.CreateFile(
		utf16, windows.DELETE, share, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0,
	)
	if err != nil {
		return os.NewSyscallError("open for removal", err)
	}
	return windows.CloseHandle(file)
}

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
