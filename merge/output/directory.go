package output

import (
	"errors"
	"io/fs"
	"os"

	"github.com/extsort/extsort/chunker/spill"
)

// A directory gives access to the files of an open directory, even if another directory takes
// over its name in the meantime.
type directory interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
	Rename(oldName, newName string) error
	Remove(name string) error
	Close() error
}

// openDirectory opens a directory twice: to access its files, and to sync it. A directory that is
// writable and searchable but not readable has no descriptor that can be synced; in this case
// syncable is false.
func openDirectory(
	o *Output, name string,
) (files directory, folder *os.File, syncable bool, err error) {
	root, err := attempt(o, "open directory", func() (*os.Root, error) { return os.OpenRoot(name) })
	if errors.Is(err, fs.ErrPermission) {
		path, unsearchable := openPath(name)
		if unsearchable != nil {
			return nil, nil, false, err
		}
		return path, path.folder, false, nil
	}

	if err != nil {
		return nil, nil, false, err
	}
	folder, err = attempt(o, "open directory to sync it", func() (*os.File, error) {
		return root.Open(".")
	})
	return root, folder, true, err
}

// syncNames returns a function that makes the names in the directory durable. If the directory
// itself cannot be synced, the function syncs the whole file system through the descriptor of the
// output. The function may still be running when the output is closed.
func syncNames(o *Output) func() error {
	file := o.file
	folder := o.folder
	sync := func() error { return spill.SyncFileSystem(file) }
	if o.syncable {
		sync = func() error { return spill.SyncFolder(folder) }
	}
	return func() error { return o.perform("sync directory", sync) }
}
