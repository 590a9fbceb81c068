//go:build unix

package input

import (
	"os"
	"syscall"
)

// sameDevice reports whether two device files refer to the same device.
func sameDevice(a, b os.FileInfo) bool {
	x, isStat := a.Sys().(*syscall.Stat_t)
	y, areStats := b.Sys().(*syscall.Stat_t)
	return isStat && areStats && x.Rdev == y.Rdev
}
