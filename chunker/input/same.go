package input

import (
	"io/fs"
	"os"
)

// SameContent reports whether a write to one of two opened files changes the content of the
// other: both are the same regular file, under any names, or the same block device.
func SameContent(a, b os.FileInfo) bool {
	switch {
	case a.Mode().IsRegular():
		return os.SameFile(a, b)
	case isDisk(a) && isDisk(b):
		return os.SameFile(a, b) || sameDevice(a, b)
	}
	return false
}

func isDisk(f os.FileInfo) bool {
	return f.Mode()&fs.ModeDevice != 0 && f.Mode()&fs.ModeCharDevice == 0
}
