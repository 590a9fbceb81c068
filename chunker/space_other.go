//go:build !windows && (!unix || netbsd || solaris || illumos || aix)

package chunker

// FreeSpace is the number of bytes that the file system of folder has left for this user; -1 when unknown.
func FreeSpace(string) int64 { return -1 }
