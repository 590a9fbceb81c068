//go:build !unix

package output

import (
	"io/fs"
	"os"
)

// accessOf returns the access to a file.
func accessOf(_ string, info fs.FileInfo) access {
	return access{
		explicit: true,
		mode:     info.Mode().Perm(),
		uid:      -1,
		gid:      -1,
	}
}

// applyTo sets the mode of a file.
func (a *access) applyTo(f *os.File) error { return f.Chmod(a.mode) }
