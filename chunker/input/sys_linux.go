package input

import (
	"os"

	"golang.org/x/sys/unix"
)

// willNeed has the system read a stretch of f from the disk, unless it is in memory. It waits while the disk has more to do than
// it takes at a time.
func willNeed(f *os.File, offset, bytes int64) {
	const most = 256 << 10 // of a call Linux takes no more than it reads ahead by itself, or than the disk takes at once
	for end := offset + bytes; offset < end; offset += most {
		unix.Fadvise(int(f.Fd()), offset, min(most, end-offset), unix.FADV_WILLNEED)
	}
}

// fetchedBytes is how many bytes the process has had read from disks so far, as the system counts them; 0 where it does not.
func fetchedBytes() int64 {
	const blockBytes = 512
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return int64(used.Inblock) * blockBytes
}
