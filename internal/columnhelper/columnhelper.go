// Package columnhelper starts extsort-columns, the program that sorts Parquet and Arrow files. It is
// a program of its own, because the library that reads these files is three times as large as
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

// kinds are the first bytes of files with columns.
var kinds = []struct{ head, kind string }{
	{"PAR1", "a Parquet file"},
	{"ARRO", "an Arrow file"},
	{streamHead, "an Arrow stream"},
}

const (
	headBytes  = 4
	streamHead = "\xff\xff\xff\xff"
)

// kindOf returns the kind of a file that begins with head.
func kindOf(head []byte) string {
	for _, k := range kinds {
		if string(head) == k.head {
			return k.kind
		}
	}
	return ""
}

// ErrMissing means that the program is not installed.
var ErrMissing = errors.New("extsort-columns, which Parquet and Arrow files need, " +
	"is neither next to extsort nor in PATH: see docs/columns.md")

// An ExitError means that the program failed and has printed its message.
type ExitError struct {
	Status int // its exit status
}

func (e *ExitError) Error() string { return fmt.Sprintf("%s: exit status %d", Name, e.Status) }

// KindOf returns the kind of an input by its first bytes, in words that follow "is", or "" for files
// without columns. The input may be a directory that contains such a file, a pattern that matches
// one, or "-", the standard input, from which it does not read. Arrow streams in files must also have
// a suffix, because numbers can begin like them.
func KindOf(name string) string {
	if name == "-" {
		return kindOfStdin(os.Stdin)
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.Mode().IsRegular():
		return kindOfFile(name)
	case err == nil && info.IsDir():
		return kindInside(name)
	case err != nil && strings.ContainsAny(name, "*?["):
		return kindOfMatch(name)
	}
	return ""
}

// kindOfMatch returns the kind of the first file that matches a pattern.
func kindOfMatch(pattern string) string {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return ""
	}
	return kindOfFile(found[0])
}

// kindOfStdin returns "" for pipes of other systems than Linux.
func kindOfStdin(stdin *os.File) string {
	info, err := stdin.Stat()
	switch {
	case err != nil:
		return ""
	case info.Mode().IsRegular():
		return kindOf(headOf(stdin))
	case info.Mode()&fs.ModeNamedPipe != 0:
		return kindOf(peek(stdin, make([]byte, headBytes)))
	}
	return ""
}

func kindOfFile(name string) string {
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close() // closing a file that was only read cannot lose data
	head := headOf(file)
	if string(head) == streamHead && !hasSuffix(name) {
		return ""
	}
	return kindOf(head)
}

// headOf returns the first bytes of a file, or nil.
func headOf(file *os.File) []byte {
	head := make([]byte, headBytes)
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil
	}
	return head
}

// hasSuffix reports whether a name has a suffix of files with columns.
func hasSuffix(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".parquet", ".arrow", ".arrows", ".feather", ".ipc":
		return true
	}
	return false
}

// kindInside returns the kind of a file in a directory or one of its subdirectories.
func kindInside(folder string) (kind string) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && hasSuffix(path) {
			kind = kindOfFile(path)
		}
		if kind != "" {
			return fs.SkipAll
		}
		return nil
	})
	return kind
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
