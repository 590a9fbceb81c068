package blockio

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Uncache switches a file to direct I/O, if its file system reports that Align is a sufficient
// alignment. It reports whether it did.
func Uncache(f *os.File) bool {
	fd := int(f.Fd())
	about := unix.Statx_t{}
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &about)
	if err != nil || about.Mask&unix.STATX_DIOALIGN == 0 {
		return false
	}
	if a := about.Dio_offset_align; a == 0 || a > Align || about.Dio_mem_align > Align {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags|unix.O_DIRECT)
	}
	return err == nil
}

// Direct opens a file a second time for direct I/O. It returns nil if direct I/O is not supported.
func Direct(f *os.File, flag int) *DirectFile {
	direct, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), flag, 0)
	if err != nil {
		return nil
	}
	if Uncache(direct) {
		return &DirectFile{direct}
	}
	direct.Close()
	return nil
}
