package spill

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openUnlinked makes a file in folder that has no name, so that nothing is left of it however the process
// ends. Where the file system has no O_TMPFILE, the name is removed at once.
func openUnlinked(folder string) (*os.File, error) {
	fd, err := unix.Open(folder, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC|unix.O_EXCL, 0o600)
	if err == nil {
		// Blocks are read whole, and what follows one in the file is another part's, or a hole.
		unix.Fadvise(fd, 0, 0, unix.FADV_RANDOM)
		return os.NewFile(uintptr(fd), filepath.Join(folder, "(spill)")), nil
	}
	return createAndRemove(folder)
}

// punch gives the space of a stretch of f back. What was not yet written to the disk then never is.
func punch(f *os.File, offset, bytes int64) {
	unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, bytes)
}

// InMemory reports whether what lies in folder never goes to a disk, as far as the system tells.
func InMemory(folder string) bool {
	var st unix.Statfs_t
	if unix.Statfs(folder, &st) != nil {
		return false
	}
	kind := uint32(st.Type) // of 4 or 8 bytes, signed or not, as the processor has it
	return kind == unix.TMPFS_MAGIC || kind == unix.RAMFS_MAGIC
}
