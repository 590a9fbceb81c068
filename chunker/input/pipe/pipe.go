// Package pipe reads and writes the pipes of a Unix pipeline with little overhead.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A pipe is a ring of pages under a single lock. A process that copies bytes into or out of the
// pipe holds the lock while it copies. On Linux, a reader therefore moves the pages elsewhere
// (splice) before it copies them. On other systems it uses plain reads.
package pipe

import "io"

// capacity is the size that an unprivileged process may request for a pipe. With the default of
// 64 KiB there is a context switch every few microseconds.
const capacity = 1 << 20

// unclosed adds a Close method that does nothing.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
