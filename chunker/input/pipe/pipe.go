// Package pipe reads and writes the pipes of a Unix pipeline with little overhead.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A pipe is a ring of pages under a single lock. A process that copies bytes into or out of the
// pipe holds the lock while it copies, and a plain write allocates, accounts for and frees every
// page. On Linux, a Reader moves the pages elsewhere (splice) before it copies them, and a Writer
// lets the pipe refer to its memory (vmsplice) instead of copying. On other systems both use
// plain reads and writes.
package pipe

import (
	"io"

	"github.com/extsort/extsort/device/arena"
)

// WriterBytes is the memory of a Writer whose caller reuses its blocks: a huge page.
const WriterBytes = arena.HugePage

// capacity is the size that an unprivileged process may request for a pipe. With the default of
// 64 KiB there is a context switch every few microseconds.
const capacity = 1 << 20

// step is the number of bytes that are copied before they are passed to the pipe. It is small
// enough that they are still in the cache when the reader copies them, and the reader does not
// have to wait for a whole block.
const step = 128 << 10

// unclosed adds a Close method that does nothing.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
