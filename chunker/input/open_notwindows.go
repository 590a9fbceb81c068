//go:build !windows

package input

import "os"

// openRegular opens a regular file.
func openRegular(name string) (*os.File, error) { return os.Open(name) }
