//go:build !linux

package spill

import "os"

func punch(*os.File, int64, int64) {}

// InMemory returns false: on this system it is not known.
func InMemory(string) bool { return false }

// SyncFileSystem does nothing: only on Linux can a directory be open without being syncable.
func SyncFileSystem(*os.File) error { return nil }
