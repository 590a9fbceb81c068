package spill

import "golang.org/x/sys/windows"

// freeSpace returns the free space of a directory's file system for this user in bytes, or -1 if
// unknown.
func freeSpace(folder string) int64 {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return -1
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return -1
	}
	return int64(free)
}

// DeviceOf returns an identifier of the directory's file system. It is never known on this
// system.
func DeviceOf(string) (id uint64, known bool) { return 0, false }
