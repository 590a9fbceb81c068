//go:build !unix

package output

import (
	"io/fs"
	"os"
)

// accessOf is that to a file.
func accessOf(_ string, info fs.FileInfo) *access {
	return &access{mode: info.Mode().Perm(), uid: -1, gid: -1}
}

// giveTo gives a file the mode.
func (a *access) giveTo(f *os.File) error { return f.Chmod(a.mode) }
