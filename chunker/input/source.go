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
	"github.com/extsort/extsort/internal/fileerr"
	"github.com/extsort/extsort/internal/remote"
)

// A Source is one input: a named file, or a reader in its place. Readers stay open.
type Source struct {
	// Name is the name of a file, or "-" for standard input. With At or Reader it is only a name
	// for messages.
	Name string

	// At contains Size bytes. Several goroutines read it at once, at any offset, and may read bytes
	// more than once. Version identifies the contents for a checkpoint.
	At      io.ReaderAt
	Size    int64
	Version string

	Reader io.Reader // read sequentially, once
}

// Named returns sources for the named files.
func Named(names ...string) []Source {
	sources := make([]Source, len(names))
	for i, name := range names {
		sources[i].Name = name
	}
	return sources
}

// IsStdin reports whether the source is standard input.
func (s *Source) IsStdin() bool {
	return s.Name == Stdin && s.At == nil && s.Reader == nil
}

// IsConsumed reports whether reading the source consumes it, as for a pipe but not for a file.
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

// Unread returns a replacement for a source that must not be read. It contains an endless
// sequence of zeros.
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

// isRemote reports whether the source is an object in a store or a file on a server.
func (s *Source) isRemote() bool {
	return s.At == nil && s.Reader == nil && remote.Is(s.Name)
}

// Stat returns information about the file of the source, if it is a file.
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

// Stat returns information about opened if it is an open file.
func Stat(opened any) (os.FileInfo, error) {
	if file, ok := opened.(interface{ Stat() (os.FileInfo, error) }); ok {
		return file.Stat()
	}
	return nil, os.ErrInvalid
}

// Content gives access to the raw content of a source.
type Content struct {
	Name   string        // name for messages
	Stream io.ReadCloser // nil if the content supports random access

	at   *seekable // nil if the content can only be read sequentially
	file *os.File  // closed by Close; may be nil
}

// OpenContent opens a file, a remote object, or, for "-", stdin.
func OpenContent(ctx context.Context, name string, stdin io.Reader) (*Content, error) {
	return Source{Name: name}.open(ctx, stdin)
}

// open opens a source. A regular file is opened for random access even if it is standard input (<
// file).
func (s Source) open(ctx context.Context, stdin io.Reader) (c *Content, err error) {
	c = &Content{Name: s.Name}
	r := s.Reader
	switch {
	case s.At != nil:
		c.at, err = newSeekable(s)
		return c, err
	case s.isRemote():
		object, err := remote.Open(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		return Source{
			Name:    object.Name,
			At:      object,
			Size:    object.Size,
			Version: object.Stamp(),
		}.open(ctx, nil)
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

// Section returns the whole content, and whether it is compressed. REQUIRES: Stream is nil
func (c *Content) Section(as format.Recognition) (section *io.SectionReader, compressed bool) {
	return io.NewSectionReader(c.at, 0, c.at.bytes), as.Compression(c.Name, c.at.first) != format.None
}

// Close closes the file if open has opened one.
func (c *Content) Close() error {
	if c.file == nil {
		return nil
	}
	return c.file.Close()
}

// closeFile closes the descriptor of a mapped file, if open has opened it.
func (c *Content) closeFile() error {
	if c.file == nil {
		return nil
	}
	file := c.file
	c.file = nil
	c.at.file = nil
	return file.Close()
}

// newSeekable returns random access to a source.
func newSeekable(s Source) (*seekable, error) {
	if s.Size < 0 {
		return nil, fmt.Errorf("%s: its size is %d bytes: it must not be negative", s.Name, s.Size)
	}
	p := &seekable{
		shown:   s.Name,
		from:    s.At,
		version: s.Version,
		bytes:   s.Size,
	}
	p.first = make([]byte, min(format.DetectBytes, s.Size))
	if n, err := p.ReadAt(p.first, 0); n < len(p.first) {
		return nil, &fileerr.Error{Op: "read", File: s.Name, Offset: -1, Err: err}
	}
	return p, nil
}

// Identity distinguishes a file from other files and from earlier versions of itself.
func (in *Input) Identity() string {
	name := in.Name
	if in.file == nil || in.file.info != nil {
		// this cannot fail, because the file has been opened under this name
		name, _ = filepath.Abs(in.Name)
	}
	if in.file != nil {
		name += " of " + in.Stamp()
	}
	if in.member != "" {
		name += ", member " + in.member
	}
	return name
}

// Stamp distinguishes the content of a file from earlier and later content under the same name.
// REQUIRES: the input is not a pipe
func (in *Input) Stamp() string {
	if in.file.info == nil {
		return in.file.version
	}
	return spill.Stamp(in.file.info)
}
