//go:build unix

package spill

import "golang.org/x/sys/unix"

// freeSpace is the number of bytes that the file system of folder has left for this user; -1 when unknown.
func freeSpace(folder string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// DeviceOf tells file systems apart, where the system can.
func DeviceOf(folder string) (id uint64, known bool) {
	var s unix.Stat_t
	err := unix.Stat(folder, &s)
	return uint64(s.Dev), err == nil
}
