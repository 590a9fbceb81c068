package input

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/remote"
)

// Source is one input: the file of its name, or what it has in place of one. That stays open.
type Source struct {
	Name string // of the file, "-" for Stdin; with At or Reader only what messages call the input

	At      io.ReaderAt // of Size bytes, may be read by several goroutines at the same time
	Size    int64
	Version string // tells what At has from what others of that name have

	Reader io.Reader // is read in sequence, once
}

// Named are the sources that are files.
func Named(names ...string) []Source {
	sources := make([]Source, len(names))
	for i, name := range names {
		sources[i].Name = name
	}
	return sources
}

// IsStdin reports whether a source stands for standard input.
func (s *Source) IsStdin() bool { return s.Name == Stdin && s.At == nil && s.Reader == nil }

// isRemote reports whether a source is an object of a store or a file of a server.
func (s *Source) isRemote() bool { return s.At == nil && s.Reader == nil && remote.Is(s.Name) }

// Stat is about the file that a source is, if it is one.
func (s *Source) Stat(stdin io.Reader) (os.FileInfo, error) {
	switch {
	case s.At != nil:
		return Stat(s.At)
	case s.Reader != nil:
		return Stat(s.Reader)
	case s.Name == Stdin:
		return Stat(stdin)
	}
	return os.Stat(s.Name)
}

// Stat is about what may be an open file.
func Stat(opened any) (os.FileInfo, error) {
	if file, ok := opened.(interface{ Stat() (os.FileInfo, error) }); ok {
		return file.Stat()
	}
	return nil, os.ErrInvalid
}

// newPlaced is what a source has at offsets.
func newPlaced(s Source) (*placed, error) {
	if s.Size < 0 {
		return nil, fmt.Errorf("%s: its size is %d bytes", s.Name, s.Size)
	}
	p := &placed{shown: s.Name, from: s.At, version: s.Version, bytes: s.Size}
	p.first = make([]byte, min(format.DetectBytes, s.Size))
	if n, err := p.ReadAt(p.first, 0); n < len(p.first) {
		return nil, fmt.Errorf("read %s: %w", s.Name, err)
	}
	return p, nil
}

// Identity tells a file from others, and from what it was before.
func (in *Input) Identity() string {
	name := in.Name
	if in.file == nil || in.file.info != nil {
		name, _ = filepath.Abs(in.Name) // as it has been opened by that name, it has one
	}
	if in.file != nil {
		name += " of " + in.Stamp()
	}
	if in.member != "" {
		name += ", member " + in.member
	}
	return name
}

// Stamp tells the content of a file from what else had, or will have, its name. REQUIRES: the input is no pipe.
func (in *Input) Stamp() string {
	if in.file.info == nil {
		return in.file.version
	}
	return spill.Stamp(in.file.info)
}
