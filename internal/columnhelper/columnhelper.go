// Package columnhelper starts extsort-columns, the program that sorts Parquet files. It is a
// program of its own, because the library that reads Parquet files is three times as large as
// extsort.
//
// Only the root package of this module is stable: this package may change in any version.
package columnhelper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Name is the name of the program.
const Name = "extsort-columns"

// magic begins and ends each Parquet file.
const magic = "PAR1"

// ErrMissing means that the program is not installed.
var ErrMissing = errors.New("sorting Parquet files needs extsort-columns, " +
	"which is neither next to extsort nor in PATH: see docs/columns.md")

// An ExitError means that the program failed and has printed its message.
type ExitError struct {
	Status int // its exit status
}

func (e *ExitError) Error() string { return fmt.Sprintf("%s: exit status %d", Name, e.Status) }

// IsParquet reports whether an input begins like a Parquet file. The input may be a directory that
// contains such a file, or a pattern that matches one.
func IsParquet(name string) bool {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.Mode().IsRegular():
		return beginsWithMagic(name)
	case err == nil && info.IsDir():
		return containsParquet(name)
	case err != nil && strings.ContainsAny(name, "*?["):
		found, err := filepath.Glob(name)
		return err == nil && len(found) > 0 && beginsWithMagic(found[0])
	}
	return false
}

func beginsWithMagic(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close() // closing a file that was only read cannot lose data
	first := make([]byte, len(magic))
	_, err = file.ReadAt(first, 0)
	return err == nil && string(first) == magic
}

// containsParquet reports whether a directory or one of its subdirectories contains a Parquet file.
func containsParquet(folder string) bool {
	found := false
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.EqualFold(filepath.Ext(path), ".parquet") {
			found = beginsWithMagic(path)
		}
		if found {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// Find returns the path of the program: next to this one, or in PATH.
func Find() (string, error) {
	name := Name
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", ErrMissing
	}
	return path, nil
}
