package input

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// willNeed has the system read bytes of f from the disk, unless they are in memory. It waits while the disk has more to
// do than it takes at a time.
func willNeed(f *os.File, offset, bytes int64) {
	const maxAtOnce = 256 << 10 // of a call Linux may take no more
	for end := offset + bytes; offset < end; offset += maxAtOnce {
		unix.Fadvise(int(f.Fd()), offset, min(maxAtOnce, end-offset), unix.FADV_WILLNEED)
	}
}

// fetchedBytes is how many bytes the process has had read from disks so far; 0 where the system does not count them.
func fetchedBytes() int64 {
	const blockBytes = 512
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return int64(used.Inblock) * blockBytes
}

// pathOf is a name by which an open file can be opened again, whatever stands under its own name by now.
func pathOf(f *os.File) string {
	name := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	if _, err := os.Stat(name); err != nil {
		return f.Name()
	}
	return name
}
