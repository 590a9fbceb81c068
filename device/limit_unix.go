//go:build unix

package device

import "golang.org/x/sys/unix"

// OpenFiles is how many files the inputs may keep open, or spill: most, or a quarter of what the process may have, as
// the output, Go's runtime and drivers need some, too. Go's runtime has raised that limit as far as it may.
func OpenFiles(most int) int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return most
	}
	return int(min(uint64(most), uint64(limit.Cur)/4))
}
