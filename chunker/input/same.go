package input

import (
	"io/fs"
	"os"
)

// SameContent reports whether a write to one of two opened files changes what is read from the other: both are the same
// regular file, by whatever names, or the same disk.
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
