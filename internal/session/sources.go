package session

import (
	"io"

	"github.com/extsort/extsort/chunker/input"
)

// stdio is the name that stands for standard input and standard output.
const stdio = input.Stdin

// A Source is one input: the file Name, or At, or Reader. Sort does not close At or Reader.
type Source struct {
	Name string // name of a file; "-": Options.Stdin. With At or Reader, messages use this name for the input

	// At provides Size bytes, for example from a *bytes.Reader or an object store. Several goroutines read it concurrently
	// at any offset, and may read bytes more than once. Version identifies the contents for a checkpoint.
	At      io.ReaderAt
	Size    int64
	Version string

	Reader io.Reader // read once, sequentially
}

// sources returns all inputs in their order. There is at least one.
func (o *Options) sources() []input.Source {
	all := input.Named(o.Inputs...)
	for _, s := range o.Sources {
		all = append(all, input.Source(s))
	}
	if len(all) == 0 {
		return input.Named(stdio)
	}
	return all
}

// isReadOnce reports whether a source cannot be read a second time.
func isReadOnce(s input.Source) bool { return s.IsStdin() || s.Reader != nil }
