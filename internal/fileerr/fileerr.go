// Package fileerr has the error of a read or write that failed at some offset of a file.
package fileerr

import "fmt"

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
