// Package fileerr defines the errors of operations on files.
package fileerr

import (
	"errors"
	"fmt"
	"io/fs"
)

// An Error reports a read or write that failed.
type Error struct {
	Op     string // what failed: read, read back or write
	File   string // the name of the file in messages
	Offset int64  // where it failed; -1: while the format of the file was detected
	Err    error  // the cause
}

func (e *Error) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s %s: %v", e.Op, e.File, e.Err)
	}
	return fmt.Sprintf("%s %s at byte %d: %v", e.Op, e.File, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// As finds the *fs.PathError of a file with the name that messages use. The operation may have used
// another name, for example that of a temporary file. The error of a custom reader or writer
// contains no *fs.PathError.
func (e *Error) As(target any) bool {
	to, ok := target.(**fs.PathError)
	if !ok {
		return false
	}
	from, ok := errors.AsType[*fs.PathError](e.Err)
	if ok {
		*to = &fs.PathError{Op: from.Op, Path: e.File, Err: from.Err}
	}
	return ok
}

// WithPath returns an error with the text of err, in which errors.As finds a *fs.PathError with the
// given operation and path.
func WithPath(op, path string, err error) error {
	return pathError{&fs.PathError{Op: op, Path: path, Err: err}}
}

type pathError struct{ path *fs.PathError }

func (e pathError) Error() string { return e.path.Err.Error() }

func (e pathError) Unwrap() error { return e.path }
