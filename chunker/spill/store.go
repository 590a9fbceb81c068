package spill

import (
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
)

// Store makes spill files: on a [Disk], or as a test double that injects faults.
type Store interface {
	// Create makes an empty file in folder that nobody else can open, and that vanishes when it is closed.
	Create(folder string) (File, error)

	// Free is the number of bytes that there is room for in the folders together; -1 when that is not known.
	Free(folders []string) int64
}

// File is one file of spill. Its methods are safe for concurrent use on disjoint stretches.
type File interface {
	io.ReaderAt
	io.WriterAt
	Release(offset, bytes int64) // says that what stands there will not be read again
	Close() error                // gives all its space back
}

// Disk is the Store on real folders.
type Disk struct{}

// Endless is a Disk that nobody asks for its room.
type Endless struct{ Disk }

// Free implements Store.
func (Endless) Free([]string) int64 { return -1 }

// Free implements Store. Folders on one file system share its room.
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

// Create makes an unlinked file in folder.
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

func (d *diskFile) ReadAt(p []byte, off int64) (int, error)  { return d.file.ReadAt(p, off) }
func (d *diskFile) WriteAt(p []byte, off int64) (int, error) { return d.file.WriteAt(p, off) }

// Release gives space back in long stretches only: punching a hole takes a journal handle, which may have to wait
// for everybody's fsync.
func (d *diskFile) Release(offset, bytes int64) {
	if from, to := d.spent.Collect(offset, offset+bytes, punchBytes); from < to {
		punch(d.file, from, to-from)
	}
}

// punchBytes is the shortest stretch that is worth a hole.
const punchBytes = 8 << 20

func (d *diskFile) Close() error {
	err := d.file.Close()
	if runtime.GOOS == "windows" {
		os.Remove(d.file.Name())
	}
	return err
}

// createAndRemove makes a file that only this user may open, and removes its name at once where an open file can be.
func createAndRemove(folder string) (*os.File, error) {
	f, err := os.CreateTemp(folder, "extsort-") // 0600
	if err == nil && runtime.GOOS != "windows" {
		os.Remove(f.Name())
	}
	return f, err
}

// SyncFolder makes the names in a folder durable. Windows cannot; some file systems need not, and say EINVAL.
func SyncFolder(folder *os.File) error {
	err := folder.Sync()
	if runtime.GOOS == "windows" || errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// DefaultFolder is where spill goes unless another folder is named: TMPDIR, else /var/tmp or the system's folder for
// temporary files. Of these two it is the first that is on a disk, and else the first that exists.
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
