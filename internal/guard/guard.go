// Package guard protects the library from the caller's functions. It wraps the caller's readers,
// writers and sinks. If one of them panics, the error names it instead of reporting a bug in the
// library. If one of them returns a number of bytes that its interface does not permit, that is an
// error, too: after a short write without an error, bytes would be missing in the output.
package guard

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/internal/safely"
)

// Reader returns a reader that calls r. name identifies r in errors. Files do not panic and are
// returned unchanged, because the system has faster ways to read them.
func Reader(r io.Reader, name string) io.Reader {
	if _, isFile := r.(*os.File); isFile || r == nil {
		return r
	}
	return reader{from: r, read: "Read of " + name}
}

type reader struct {
	from io.Reader
	read string
}

func (r reader) Read(p []byte) (int, error) {
	defer safely.Attribute(r.read)
	n, err := r.from.Read(p)
	if uint(n) > uint(len(p)) {
		return 0, countError(r.read, n, len(p))
	}
	return n, err
}

// ReaderAt is Reader for an io.ReaderAt.
func ReaderAt(r io.ReaderAt, name string) io.ReaderAt {
	if _, isFile := r.(*os.File); isFile || r == nil {
		return r
	}
	return readerAt{from: r, read: "ReadAt of " + name}
}

type readerAt struct {
	from io.ReaderAt
	read string
}

func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	defer safely.Attribute(r.read)
	n, err := r.from.ReadAt(p, off)
	if isWrong(n, len(p), err) {
		return 0, countError(r.read, n, len(p))
	}
	return n, err
}

// Writer is Reader for an io.Writer.
func Writer(w io.Writer, name string) io.Writer {
	if _, isFile := w.(*os.File); isFile || w == nil {
		return w
	}
	return writer{to: w, write: "Write of " + name}
}

type writer struct {
	to    io.Writer
	write string
}

func (w writer) Write(p []byte) (int, error) {
	defer safely.Attribute(w.write)
	n, err := w.to.Write(p)
	if isWrong(n, len(p), err) {
		return 0, countError(w.write, n, len(p))
	}
	return n, err
}

// isWrong reports whether n is not a number of bytes that a call for size bytes may return. Without
// an error, the call must return size.
func isWrong(n, size int, err error) bool {
	return uint(n) > uint(size) || n < size && err == nil
}

// countError is the error of a call that returned a wrong number of bytes.
func countError(call string, n, size int) error {
	return fmt.Errorf("%s returned %d for %d bytes", call, n, size)
}

// A Sink completes or discards the bytes written to it.
type Sink interface {
	io.Writer
	Commit(ctx context.Context) error
	Abort() error
}

// NewSink returns a sink that calls s. name identifies s in errors.
func NewSink(s Sink, name string) Sink {
	return sink{Writer: writer{to: s, write: "Write of " + name}, to: s, name: name}
}

type sink struct {
	io.Writer
	to   Sink
	name string
}

func (s sink) Commit(ctx context.Context) error {
	return safely.Call(func() error {
		defer safely.Attribute("Commit of " + s.name)
		return s.to.Commit(ctx)
	})
}

func (s sink) Abort() error {
	return safely.Call(func() error {
		defer safely.Attribute("Abort of " + s.name)
		return s.to.Abort()
	})
}
