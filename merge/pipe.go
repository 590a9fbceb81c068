package merge

import "io"

// PipeBytes is the memory that the writer of a pipe takes.
const PipeBytes = 2 << 20

// pipeStep is how much is copied before the pipe gets it: little enough to be still in the cache when the reader copies
// it, and the reader need not wait for a whole block.
const pipeStep = 128 << 10

// unclosed is a writer that there is nothing to close of.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
