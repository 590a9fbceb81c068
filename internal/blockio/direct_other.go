//go:build !linux

package blockio

import "os"

// Uncache returns false: this system has no direct I/O that extsort uses.
func Uncache(*os.File) bool { return false }

// Direct returns nil: this system has no direct I/O that extsort uses.
func Direct(*os.File, int) *DirectFile { return nil }
