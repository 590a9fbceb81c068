//go:build !unix

package input

import "os"

// sameDevice knows no device files.
func sameDevice(os.FileInfo, os.FileInfo) bool { return false }
