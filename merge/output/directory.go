package output

import (
	"errors"
	"io/fs"
	"os"

	"github.com/extsort/extsort/chunker/spill"
)

// A directory gives access to the files of an open directory. Whoever takes the name of the directory meanwhile gets
// nothing.
type directory interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
	Rename(oldName, newName string) error
	Remove(name string) error
	Close() error
}

// openDirectory opens a directory to work in it, and once more to sync it. A directory that may be written and searched
// but not read has no descriptor that can be synced: then syncable is false.
func openDirectory(o *Output, name string) (files directory, folder *os.File, syncable bool, err error) {
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
	folder, err = attempt(o, "open directory to sync it", func() (*os.File, error) { return root.Open(".") })
	return root, folder, true, err
}

// syncNames returns a function that makes the names in the directory durable. Where the directory itself cannot be
// synced, syncing its whole file system through the output's own descriptor does the same. The function may still run
// when the output is closed.
func syncNames(o *Output) func() error {
	file, folder := o.file, o.folder
	sync := func() error { return spill.SyncFileSystem(file) }
	if o.syncable {
		sync = func() error { return spill.SyncFolder(folder) }
	}
	return func() error { return o.do("sync directory", sync) }
}
