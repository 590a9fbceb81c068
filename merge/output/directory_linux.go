package output

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// A pathDirectory is a directory that this process may search but not read. It is opened with
// O_PATH, which requires no permission, and its files are accessed through /proc.
type pathDirectory struct{ folder *os.File }

// openPath opens a directory with O_PATH.
func openPath(name string) (*pathDirectory, error) {
	folder, err := os.OpenFile(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	d := &pathDirectory{folder}
	// there is no /proc, or the directory may not be searched
	if _, err := os.Stat(d.path(".")); err != nil {
		folder.Close()
		return nil, err
	}

	return d, nil
}

func (d *pathDirectory) path(name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.folder.Fd(), name)
}

func (d *pathDirectory) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(d.path(name), flag|unix.O_NOFOLLOW, perm)
}

func (d *pathDirectory) Lstat(name string) (fs.FileInfo, error) {
	return os.Lstat(d.path(name))
}

func (d *pathDirectory) Rename(oldName, newName string) error {
	return os.Rename(d.path(oldName), d.path(newName))
}

func (d *pathDirectory) Link(oldName, newName string) error {
	return os.Link(d.path(oldName), d.path(newName))
}

func (d *pathDirectory) Remove(name string) error {
	return os.Remove(d.path(name))
}

// Close does nothing: the output closes its folder.
func (d *pathDirectory) Close() error { return nil }
