//go:build unix

package spill

import "golang.org/x/sys/unix"

// freeSpace returns the free space of a directory's file system for this user in bytes, or -1 if
// unknown.
func freeSpace(folder string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// DeviceOf returns an identifier of the directory's file system, if the system has one.
func DeviceOf(folder string) (id uint64, known bool) {
	var s unix.Stat_t
	err := unix.Stat(folder, &s)
	return uint64(s.Dev), err == nil
}
