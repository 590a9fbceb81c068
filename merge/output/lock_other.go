//go:build !unix || aix

package output

import (
	"errors"
	"os"
)

// renamesOpen: a file has to be closed before it is renamed or removed.
const renamesOpen = false

// lock is not supported: temporary names are random, and what a killed run leaves is the user's to remove.
func lock(*os.File) error { return errors.ErrUnsupported }

func isDead(*os.File) bool { return false }
