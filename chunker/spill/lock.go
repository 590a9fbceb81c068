package spill

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/extsort/extsort/internal/filelock"
)

// folderLock is the lock on the folder of a checkpoint: of one process that writes there, or of several that read. It
// is on a file of its own, since the manifest is replaced. The system takes it away when the process ends.
type folderLock struct {
	folder string
	file   *os.File // nil: there is none to be locked
	shared bool
}

// lockTimeout is how long another process may hold the lock: some systems take the lock of a killed process away only
// after its parent has heard of its end.
const lockTimeout = 2 * time.Second

var errLocked = errors.New("another process uses it: wait for it, or name another directory")

// lockFolder waits for the lock. To read, it makes no file.
func lockFolder(ctx context.Context, folder string, shared bool) (*folderLock, error) {
	for {
		file, err := openLock(folder, shared)
		if err != nil {
			return nil, err
		}
		if file == nil {
			return &folderLock{folder: folder, shared: shared}, nil
		}
		err = filelock.Wait(ctx, file, filelock.Kind(shared), lockTimeout)
		if err == nil && isNamed(file) {
			return &folderLock{folder: folder, file: file, shared: shared}, nil
		}
		file.Close()
		if errors.Is(err, filelock.ErrBusy) {
			return nil, errLocked
		}
		if err != nil {
			return nil, err
		}
	}
}

// openLock opens the file; nil: there is none, and nothing is to be written.
func openLock(folder string, shared bool) (*os.File, error) {
	name := filepath.Join(folder, lockName)
	if !shared {
		return os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	}
	file, err := os.Open(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	_, err = os.Stat(folder)
	return nil, err
}

// isNamed reports whether the file still has its name: another process may have removed it together with the folder.
func isNamed(file *os.File) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(file.Name())
	return err == nil && os.SameFile(opened, named)
}

func (l *folderLock) close() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}

// remove removes the file of the lock. It gets another name first: another process that waits for the lock then makes a
// file of its own, and knows that this one is none any more. It is closed before it is removed, since a network file
// system gives an open file that is removed another name, which stays in the folder.
func (l *folderLock) remove() error {
	name, removed := filepath.Join(l.folder, lockName), filepath.Join(l.folder, removedLock)
	if runtime.GOOS == "windows" { // which renames no open file
		return errors.Join(l.close(), removeFile(name))
	}
	err := os.Rename(name, removed)
	if err = errors.Join(err, l.close()); err != nil {
		return err
	}
	return removeFile(removed)
}

// removeFile is os.Remove, which a test watches.
var removeFile = os.Remove
