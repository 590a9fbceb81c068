// Package pipe reads and writes the pipes of a Unix pipeline at the cost of the bytes.
//
// A pipe is a ring of pages under one lock. Whoever copies bytes into it or out of it holds the lock meanwhile, and a
// plain write allocates, charges and frees every page. On Linux a Reader moves the pages on (splice) before it copies,
// and a Writer lets the pipe refer to memory (vmsplice) instead of copying; elsewhere both are what they were made of.
package pipe

import (
	"io"

	"github.com/extsort/extsort/device/arena"
)

// WriterBytes is the memory that a Writer of blocks that it has to copy takes: a huge page.
const WriterBytes = arena.HugePage

// capacity is what an unprivileged process may ask a pipe to hold; the default of 64 KiB makes a context switch of
// every few microseconds of data.
const capacity = 1 << 20

// step is how much is copied before the pipe gets it: little enough to be still in the cache when the reader copies
// it, and the reader need not wait for a whole block.
const step = 128 << 10

// unclosed is a writer that there is nothing to close of.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
