package input

import (
	"os"
	"strconv"

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

// pathOf is a name by which an open file can be opened again, whatever stands under its own name by now.
func pathOf(f *os.File) string {
	if name := "/proc/self/fd/" + strconv.Itoa(int(f.Fd())); exists(name) {
		return name
	}
	return f.Name()
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// maxMapped is how many bytes of input may be read through maps: what the page cache can hold.
func maxMapped() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(uint64(info.Totalram)*uint64(info.Unit)) / 2
}
