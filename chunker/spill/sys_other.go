//go:build !linux

package spill

import "os"

func openUnlinked(folder string) (*os.File, error) { return createAndRemove(folder) }

func punch(*os.File, int64, int64) {}

// Uncache has a file read and written past the page cache, where that can be told.
func Uncache(*os.File) bool { return false }

// Direct opens a file once more, to read or write it past the page cache; nil: that cannot be done.
func Direct(*os.File, int) *os.File { return nil }

// InMemory reports whether what lies in folder never goes to a disk, as far as the system tells.
func InMemory(string) bool { return false }

// SyncFileSystem is not needed: only Linux opens a directory that it cannot sync.
func SyncFileSystem(*os.File) error { return nil }
