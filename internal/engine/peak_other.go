//go:build !linux

package engine

// anonymousMemory is the resident anonymous memory of this process in bytes; 0: not known here.
func anonymousMemory() int64 { return 0 }
