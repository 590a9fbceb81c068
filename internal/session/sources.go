package session

import "github.com/extsort/extsort/chunker/input"

// stdio is the name of standard input and standard output.
const stdio = input.Stdin

// A Source is one input. Without At and Reader, the name "-" denotes Options.Stdin.
type Source = input.Source

// sources returns all inputs in order. It returns at least one.
func (o *Options) sources() []input.Source {
	all := append(input.Named(o.Inputs...), o.Sources...)
	if len(all) == 0 {
		return input.Named(stdio)
	}
	return all
}

// isReadOnce reports whether a source cannot be read a second time.
func isReadOnce(s input.Source) bool { return s.IsStdin() || s.Reader != nil }

// shownName returns the name of a source for messages.
func shownName(s input.Source) string {
	if s.IsStdin() {
		return "standard input"
	}
	return s.Name
}
