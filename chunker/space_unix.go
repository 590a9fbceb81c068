//go:build unix && !netbsd && !solaris && !illumos && !aix

package chunker

import "golang.org/x/sys/unix"

// FreeSpace is the number of bytes that the file system of folder has left for this user; -1 when unknown.
func FreeSpace(folder string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
