package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/extsort/extsort/chunker/input/pipe"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/fileerr"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/safely"
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
		return !isRegular(s.Reader)
	case s.Name == Stdin:
		return !isRegular(stdin)
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
	return s.At == nil && s.Reader == nil && remote.IsURL(s.Name)
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

	at     *seekable // nil if the content can only be read sequentially
	origin origin
	close  []io.Closer
}

// OpenContent opens a file, a remote object, or, for "-", stdin.
func OpenContent(ctx context.Context, name string, stdin io.Reader) (*Content, error) {
	return Source{Name: name}.open(ctx, stdin)
}

// open opens a source. A regular file is opened for random access even if it is standard input (<
// file).
func (s Source) open(ctx context.Context, stdin io.Reader) (*Content, error) {
	switch {
	case s.At != nil:
		at, err := newSeekable(s)
		if err != nil {
			return nil, err
		}
		return &Content{Name: s.Name, at: at, origin: version(s.Version), close: []io.Closer{at}}, nil
	case s.isRemote():
		return s.openRemote(ctx)
	case s.IsStdin():
		return newContent(ctx, shownStdin, stdin), nil
	case s.Reader != nil:
		return newContent(ctx, s.Name, s.Reader), nil
	}

	file, err := openFile(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	c := newContent(ctx, s.Name, file)
	c.close = append(c.close, file)
	return c, nil
}

// openRemote opens a remote object.
func (s Source) openRemote(ctx context.Context) (*Content, error) {
	object, err := remote.Open(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	opened := Source{
		Name:    object.Name,
		At:      object,
		Size:    object.Size,
		Version: object.Stamp(),
	}
	return opened.open(ctx, nil)
}

// newContent returns the content of a reader. Closing it does not close the reader.
func newContent(ctx context.Context, shown string, r io.Reader) *Content {
	at, file, ok := newRegular(shown, r)
	if !ok {
		return &Content{Name: shown, Stream: pipe.NewReader(ctx, r), origin: unknownOrigin{}}
	}
	return &Content{Name: shown, at: at, origin: file, close: []io.Closer{at}}
}

// Section returns the whole content, and whether it is compressed. REQUIRES: Stream is nil
func (c *Content) Section(as format.Recognition) (section *io.SectionReader, compressed bool) {
	return io.NewSectionReader(c.at, 0, c.at.size), as.Compression(c.Name, c.at.firstBytes) != format.None
}

// Close closes everything that open has opened.
func (c *Content) Close() error {
	closers := c.close
	c.close = nil
	return joinErrors(closers, io.Closer.Close)
}

// closeFile closes the descriptor of a mapped file, if open has opened it.
func (c *Content) closeFile() error {
	file := c.origin.(*localFile)
	i := slices.Index(c.close, io.Closer(file.file))
	if i < 0 {
		return nil
	}
	c.close = slices.Delete(c.close, i, i+1)
	file.state = fileMapped
	return file.file.Close()
}

// openFile opens a file that is not a directory. Opening a FIFO blocks until another process
// opens its other end, so openFile stops waiting when ctx is cancelled.
func openFile(ctx context.Context, name string) (*os.File, error) {
	file, err := openNamed(ctx, name)
	return file, plainPathError(err)
}

func openNamed(ctx context.Context, name string) (*os.File, error) {
	if name == "" {
		return nil, errors.New("the name of an input is empty")
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	case info.Mode().IsRegular():
		return openRegular(name)
	}

	var file *os.File
	opened := make(chan struct{})
	go func() {
		err = safely.Call(func() (err error) {
			file, err = os.Open(name)
			return err
		})
		select {
		case opened <- struct{}{}:
		case <-ctx.Done():
			file.Close()
		}
	}()
	select {
	case <-opened:
		return file, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// plainPathError changes "stat NAME: no such file" to "NAME: no such file".
func plainPathError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", pathErr.Path, device.WithoutPath(pathErr))
	}
	return err
}

// newSeekable returns random access to a source.
func newSeekable(s Source) (*seekable, error) {
	if s.Size < 0 {
		return nil, fmt.Errorf("%s: its size is %d bytes: it must not be negative", s.Name, s.Size)
	}
	p := &seekable{
		shownName: s.Name,
		source:    s.At,
		size:      s.Size,
	}
	p.firstBytes = make([]byte, min(format.DetectBytes, s.Size))
	if n, err := p.ReadAt(p.firstBytes, 0); n < len(p.firstBytes) {
		return nil, &fileerr.Error{Op: "read", File: s.Name, Offset: -1, Err: err}
	}
	return p, nil
}

// Identity distinguishes a file from other files and from earlier versions of itself.
func (in *Input) Identity() string {
	identity := in.origin.identity(in.Name)
	if in.member != "" {
		identity += ", member " + in.member
	}
	return identity
}

// Stamp distinguishes the content of a file from earlier and later content under the same name.
// REQUIRES: the input is not a pipe
func (in *Input) Stamp() string { return in.origin.stamp() }
