//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// looksClosed reports whether a standard stream is /dev/null, open for reading and writing. That is what Go's runtime
// puts where a descriptor is closed. A shell opens /dev/null for one of the two, but some programs for both, as
// Python's subprocess.DEVNULL does, which cannot be told apart.
func looksClosed(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	var open, null unix.Stat_t
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR &&
		unix.Fstat(int(f.Fd()), &open) == nil && unix.Stat(os.DevNull, &null) == nil &&
		open.Mode&unix.S_IFMT == unix.S_IFCHR && open.Rdev == null.Rdev
}
