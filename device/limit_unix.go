//go:build unix

package device

import "golang.org/x/sys/unix"

// MaxOpenFiles returns the number of files that inputs or spill files may keep open: most, or a
// quarter of the process's limit if that is lower. The output, the Go runtime and drivers need
// descriptors, too. The Go runtime has already raised the limit as far as possible.
func MaxOpenFiles(most int) int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return most
	}
	return int(min(uint64(most), uint64(limit.Cur)/4))
}
