package output

import (
	"errors"
	"io/fs"
	"os"

	"github.com/extsort/extsort/chunker/spill"
)

// A directory is the open directory of an output. It stays the same directory even if another one
// takes over its name in the meantime.
type directory struct {
	files    directoryFiles
	folder   *os.File // the same directory, for links and to sync it
	syncable bool     // whether folder can be synced
}

// directoryFiles gives access to the files of a directory by their names.
type directoryFiles interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
	Rename(oldName, newName string) error
	Link(oldName, newName string) error
	Remove(name string) error
	Close() error
}

// openDirectory opens a directory twice: to access its files, and to sync it. A directory that is
// writable and searchable but not readable has no descriptor that can be synced.
func openDirectory(ops operations, name string) (directory, error) {
	root, err := attempt(ops, "open directory", func() (*os.Root, error) { return os.OpenRoot(name) })
	if errors.Is(err, fs.ErrPermission) {
		path, unsearchable := openPath(name)
		if unsearchable != nil {
			return directory{}, err
		}
		return directory{files: path, folder: path.folder}, nil
	}

	if err != nil {
		return directory{}, err
	}
	folder, err := attempt(ops, "open directory to sync it", func() (*os.File, error) {
		return root.Open(".")
	})
	if err != nil {
		root.Close()
		return directory{}, err
	}
	return directory{files: root, folder: folder, syncable: true}, nil
}

// sync makes the names in the directory durable. If the directory itself cannot be synced, it
// syncs the whole file system through an open file of the directory.
func (d directory) sync(file *os.File) error {
	if d.syncable {
		return spill.SyncFolder(d.folder)
	}
	return spill.SyncFileSystem(file)
}

// isNamed reports whether the directory lists an open regular file under the given name.
func (d directory) isNamed(name string, file *os.File) bool {
	named, missing := d.files.Lstat(name)
	opened, err := file.Stat()
	return missing == nil && err == nil && named.Mode().IsRegular() && os.SameFile(named, opened)
}

// close closes the directory. It may be called more than once. It ignores errors, because nothing
// was written through these descriptors.
func (d directory) close() {
	d.files.Close()
	d.folder.Close()
}
