package spill

import "golang.org/x/sys/windows"

// freeSpace is the number of bytes that the file system of folder has left for this user; -1 when unknown.
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

// DeviceOf tells file systems apart, where the system can.
func DeviceOf(string) (id uint64, known bool) { return 0, false }
