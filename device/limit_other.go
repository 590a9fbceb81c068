//go:build !unix

package device

// OpenFiles returns the number of files that inputs or spill files may keep open.
func OpenFiles(most int) int { return most }
