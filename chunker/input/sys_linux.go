package input

import (
	"math"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// willNeed asks the system to read a range of f from the disk, unless it is in memory. It blocks
// while the disk has too many requests.
func willNeed(f *os.File, offset, bytes int64) {
	const maxAtOnce = 256 << 10 // Linux may ignore more in a single call
	for end := offset + bytes; offset < end; offset += maxAtOnce {
		unix.Fadvise(int(f.Fd()), offset, min(maxAtOnce, end-offset), unix.FADV_WILLNEED)
	}
}

// fetchedBytes returns how many bytes this process has read from disks so far, or 0 if the system
// does not count them.
func fetchedBytes() int64 {
	const blockBytes = 512
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return int64(used.Inblock) * blockBytes
}

// pathOf returns a name under which an open file can be opened again, even if another file has
// taken its name.
func pathOf(f *os.File) string {
	name := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	if _, err := os.Stat(name); err != nil {
		return f.Name()
	}
	return name
}

// isCached reports whether the page cache holds a file, by reading a byte at several places without
// waiting for a disk. It returns true on file systems that don't support such reads, such as tmpfs.
//
// One missing place is enough to return false. A map of a file that is partly on a disk costs more
// than system calls: each fault waits, and reads up to several MiB around the page.
func isCached(f *os.File, bytes int64) bool {
	const places = 32
	one := [][]byte{make([]byte, 1)}
	for i := range int64(places) {
		_, err := unix.Preadv2(int(f.Fd()), one, bytes/places*i+bytes/places/2, unix.RWF_NOWAIT)
		if err == unix.EAGAIN {
			return false
		}
	}
	return true
}

// addressLimit returns how many bytes of address space the process may use.
func addressLimit() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil {
		return math.MaxInt64
	}
	return int64(min(limit.Cur, math.MaxInt64))
}

// growsByMap reports whether reads through a map would make a file occupy more space. The holes of
// a file in tmpfs or hugetlbfs are filled when a map of them is read, and the system signals a
// fault if there is no space. A system call returns zeros instead.
func growsByMap(f *os.File, info os.FileInfo) bool {
	const blockBytes = 512
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int64(stat.Blocks)*blockBytes >= info.Size() {
		return false
	}
	var system unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &system) != nil {
		return true
	}
	switch uint32(system.Type) {
	case unix.TMPFS_MAGIC, unix.HUGETLBFS_MAGIC:
		return true
	}
	return false
}
