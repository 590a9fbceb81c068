package spill

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// A Store creates spill files: on a [Disk], or in tests as a double that injects errors.
type Store interface {
	// Create creates an empty file that no other process can open and that disappears when it is
	// closed.
	Create(folder string) (File, error)

	// Free returns the total free space of the directories in bytes, or -1 if unknown.
	Free(folders []string) int64
}

// A File is a spill file. Its methods are safe for concurrent use on disjoint ranges.
type File interface {
	io.ReaderAt
	io.WriterAt
	Release(offset, bytes int64) // the range will not be read again
	Close() error                // releases all space
}

// Disk is the Store that uses real directories.
type Disk struct{}

// UncheckedDisk is a Disk whose free space is never checked.
type UncheckedDisk struct{ Disk }

// Free implements Store.
func (UncheckedDisk) Free([]string) int64 { return -1 }

// Free implements Store. It counts each file system once.
func (Disk) Free(folders []string) (free int64) {
	seen := map[uint64]bool{}
	for _, folder := range folders {
		device, known := DeviceOf(folder)
		if known && seen[device] {
			continue
		}
		seen[device] = known
		n := freeSpace(folder)
		if n < 0 {
			return -1
		}
		free += n
	}

	return free
}

// Create creates a file that disappears when it is closed or when the process ends.
func (Disk) Create(folder string) (File, error) {
	f, err := openUnlinked(folder)
	if err != nil {
		return nil, err
	}
	return &diskFile{file: f}, nil
}

type diskFile struct {
	file  *os.File
	spent Stretches
}

func (d *diskFile) ReadAt(p []byte, off int64) (int, error) {
	return d.file.ReadAt(p, off)
}
func (d *diskFile) WriteAt(p []byte, off int64) (int, error) {
	return d.file.WriteAt(p, off)
}

// Release releases space only in long ranges, because punching a hole needs a journal handle,
// which may have to wait for an fsync of any process.
func (d *diskFile) Release(offset, bytes int64) {
	if from, to := d.spent.Collect(offset, offset+bytes, punchBytes); from < to {
		punch(d.file, from, to-from)
	}
}

// punchBytes is the minimum length of a hole.
const punchBytes = 8 << 20

func (d *diskFile) Close() error { return d.file.Close() }

// SyncFolder makes the names in a directory durable. It ignores file systems that do not support
// or need this. On Windows it does nothing.
func SyncFolder(folder *os.File) error {
	err := folder.Sync()
	if runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) ||
		errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// DefaultFolder returns the directory for spill files if the user names none: TMPDIR, or else the
// first of /var/tmp and the system's temporary directory that is on a disk, or else the first
// that exists.
func DefaultFolder() string {
	if dir := os.Getenv("TMPDIR"); dir != "" {
		return dir
	}
	return chooseFolder("/var/tmp", os.TempDir())
}

func chooseFolder(candidates ...string) string {
	first := ""
	for _, folder := range candidates {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue
		}
		if !InMemory(folder) {
			return folder
		}
		if first == "" {
			first = folder
		}
	}

	if first == "" {
		first = candidates[len(candidates)-1]
	}
	return first
}

// SyncNames makes the names in a directory durable. If the directory is writable but not
// readable, it syncs the whole file system through a new file.
func SyncNames(name string) error {
	folder, err := os.Open(name)
	if errors.Is(err, fs.ErrPermission) {
		if file, unwritable := openUnlinked(name); unwritable == nil {
			return errors.Join(SyncFileSystem(file), file.Close())
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(SyncFolder(folder), folder.Close())
}
