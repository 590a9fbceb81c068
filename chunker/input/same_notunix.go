//go:build !unix

package input

import "os"

// sameDevice returns false: this system has no device files.
func sameDevice(os.FileInfo, os.FileInfo) bool { return false }
