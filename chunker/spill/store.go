package spill

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
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
	Reserve(offset, bytes int64) error // makes sure that writing there finds room
	Release(offset, bytes int64)       // says that what stands there will not be read again
	Close() error                      // gives all its space back
}

// Disk is the Store on real folders.
type Disk struct{}

// Free implements Store. Folders on one file system share its room.
func (Disk) Free(folders []string) (free int64) {
	seen := map[uint64]bool{}
	for _, folder := range folders {
		device, known := deviceOf(folder)
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
	d := &diskFile{file: f}
	if runtime.GOOS == "windows" {
		d.remove = filepath.Dir(f.Name())
	}
	return d, nil
}

type diskFile struct {
	file   *os.File
	remove string // what Close has to remove where an open file can't be unlinked; "" otherwise
	spent  Stretches
}

func (d *diskFile) ReadAt(p []byte, off int64) (int, error)  { return d.file.ReadAt(p, off) }
func (d *diskFile) WriteAt(p []byte, off int64) (int, error) { return d.file.WriteAt(p, off) }
func (d *diskFile) Reserve(offset, bytes int64) error        { return reserve(d.file, offset, bytes) }

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
	if d.remove != "" {
		os.RemoveAll(d.remove)
	}
	return err
}

// createAndRemove makes a file in a private folder of its own and removes both names at once.
func createAndRemove(folder string) (*os.File, error) {
	private, err := os.MkdirTemp(folder, "extsort-") // 0700
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(private, "spill"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		os.RemoveAll(private)
		return nil, err
	}
	if runtime.GOOS != "windows" {
		os.RemoveAll(private)
	}
	return f, nil
}

// DefaultFolder is where spill goes unless another folder is named: TMPDIR, else /var/tmp where there is one, since
// /tmp often lies in memory.
func DefaultFolder() string {
	if dir := os.Getenv("TMPDIR"); dir != "" {
		return dir
	}
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
		return "/var/tmp"
	}
	return os.TempDir()
}
