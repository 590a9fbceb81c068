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

// A folderLock is the lock on the directory of a checkpoint. It is held by one process that
// writes or by several that read. It is on a file of its own, because the manifest is replaced
// when it changes. The system releases the lock when the process ends.
type folderLock struct {
	folder string
	file   *os.File // nil if there is no file to lock
	shared bool
}

// lockTimeout limits the wait for another process. Some systems release the lock of a killed
// process only after its parent has been notified.
const lockTimeout = 2 * time.Second

var errLocked = errors.New("another process uses it: wait for it, or name another directory")

// lockTries limits how often other processes, or a file system with unstable inode numbers, may
// replace the file of the lock.
const lockTries = 100

var errReplaced = errors.New("another file keeps replacing its lock: name a directory on another file system")

// lockFolder waits for the lock. A shared lock does not create a file.
func lockFolder(ctx context.Context, folder string, shared bool) (*folderLock, error) {
	for range lockTries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		l := &folderLock{folder: folder, shared: shared}
		if locked, err := l.lock(ctx); err != nil {
			return nil, err
		} else if locked {
			return l, nil
		}
	}
	return nil, errReplaced
}

// lock tries once to take the lock. It returns false if another process has replaced the file.
func (l *folderLock) lock(ctx context.Context) (locked bool, err error) {
	file, err := openLock(l.folder, l.shared)
	if file == nil || err != nil {
		return err == nil, err
	}
	err = filelock.Lock(ctx, file, filelock.Kind(l.shared), lockTimeout)
	if err == nil {
		locked, err = isNamed(file)
	}
	if locked {
		l.file = file
		return true, nil
	}
	file.Close()
	if errors.Is(err, filelock.ErrBusy) {
		err = errLocked
	}
	return false, err
}

// openLock opens the file of the lock. It returns nil if the file does not exist and the lock is
// shared.
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

// isNamed reports whether the file still has its name. Another process may have removed it
// together with the directory.
func isNamed(file *os.File) (bool, error) {
	opened, err := file.Stat()
	if err != nil {
		return false, err
	}
	named, err := statLock(file.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(opened, named), err
}

// statLock is os.Lstat; tests replace it.
var statLock = os.Lstat

func (l *folderLock) close() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}

// remove removes the file of the lock. It renames the file first: another process that waits for
// the lock then recognizes that this file is obsolete, and creates a new one. It closes the file
// before removing it, because a network file system keeps a removed open file under another name
// in the directory.
func (l *folderLock) remove() error {
	name := filepath.Join(l.folder, lockName)
	removed := filepath.Join(l.folder, removedLock)
	if runtime.GOOS == "windows" { // Windows cannot rename open files
		return errors.Join(l.close(), removeFile(name))
	}
	err := os.Rename(name, removed)
	if err = errors.Join(err, l.close()); err != nil {
		return err
	}
	return removeFile(removed)
}

// removeFile is os.Remove; tests replace it.
var removeFile = os.Remove
