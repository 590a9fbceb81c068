package input

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/extsort/extsort/chunker/input/pipe"
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

// IsConsumed reports whether reading a source takes its bytes away from whoever reads next: a pipe, but no file.
func (s *Source) IsConsumed(stdin io.Reader) bool {
	switch {
	case s.At != nil || s.isRemote():
		return false
	case s.Reader != nil:
		return newRegular(s.Name, s.Reader) == nil
	case s.Name == Stdin:
		return newRegular(s.Name, stdin) == nil
	}
	info, err := os.Stat(s.Name)
	return err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeCharDevice) != 0
}

// Unread returns a source in place of one that must not be read: its bytes are zeros without an end.
func (s *Source) Unread() Source {
	name := s.Name
	if s.IsStdin() {
		name = shownStdin
	}
	return Source{Name: name, Reader: zeros{}}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

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

// Content is what a source has, before anybody knows what that is.
type Content struct {
	Name   string        // for people
	Stream io.ReadCloser // nil: it can be read at offsets

	at   *placed  // nil: it can be read in sequence only
	file *os.File // that Close closes; nil: none
}

// OpenContent opens a file, an object, or stdin for "-".
func OpenContent(ctx context.Context, name string, stdin io.Reader) (*Content, error) {
	return Source{Name: name}.open(ctx, stdin)
}

// open opens a source, a regular file to be read at offsets also where the shell has made it standard input (< file).
func (s Source) open(ctx context.Context, stdin io.Reader) (c *Content, err error) {
	c, r := &Content{Name: s.Name}, s.Reader
	switch {
	case s.At != nil:
		c.at, err = newPlaced(s)
		return c, err
	case s.isRemote():
		object, err := remote.Open(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		return Source{Name: object.Name, At: object, Size: object.Size, Version: object.Stamp()}.open(ctx, nil)
	case s.IsStdin():
		c.Name, r = shownStdin, stdin
	case r == nil:
		if c.file, err = openInput(ctx, s.Name); err != nil {
			return nil, err
		}
		r = c.file
	}
	if c.at = newRegular(c.Name, r); c.at == nil {
		c.Stream = pipe.NewReader(ctx, r)
	}
	return c, nil
}

// Section is all that can be read at offsets, and whether it is compressed. REQUIRES: there is no Stream.
func (c *Content) Section(as format.Recognition) (section *io.SectionReader, compressed bool) {
	return io.NewSectionReader(c.at, 0, c.at.bytes), as.Compression(c.Name, c.at.first) != format.None
}

// Close closes the file, if the source was the name of one.
func (c *Content) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
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
