//go:build !unix

package device

// MaxOpenFiles returns the number of files that inputs or spill files may keep open.
func MaxOpenFiles(most int) int { return most }
