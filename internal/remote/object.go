package remote

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cenkalti/backoff/v5"
)

// Object is something elsewhere that can be read at any place.
type Object struct {
	Name string // for messages, see Shown
	Size int64  // bytes
	Tag  string // tells its content from any other that has the name: its ETag

	ctx  context.Context // of the run that reads it: io.ReaderAt has none
	get  getter
	head []byte // its first bytes
}

// getter sends one request for the bytes from first up to end, fewer where the object ends before. tag is that of the
// object as it was opened; "": not known yet.
type getter func(ctx context.Context, first, end int64, tag string) (*answer, error)

// answer is what came.
type answer struct {
	body io.ReadCloser
	size int64 // of the whole object
	tag  string
}

var (
	errChanged  = errors.New("it changed while it was being read; try again")
	errEmpty    = errors.New("it is empty") // no byte of it can be asked for
	errNoRanges = errors.New("the server answers no requests for ranges: download the file first, or pipe it in")
	errNoTag    = errors.New("the server tells neither ETag nor Last-Modified, so that a change would not be noticed: " +
		"download the file first")
)

// headBytes is what is read when an object is opened: most headers are in it.
const headBytes = 4 << 10

// open reads the first bytes of an object, and learns what it is.
func open(ctx context.Context, name string, get getter) (*Object, error) {
	o := &Object{Name: name, ctx: ctx, get: get}
	err := retry(ctx, openTries, func(ctx context.Context) error {
		a, err := get(ctx, 0, headBytes, "")
		if errors.Is(err, errEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		defer a.body.Close()
		if o.Size, o.Tag = a.size, a.tag; o.Tag == "" {
			return backoff.Permanent(errNoTag)
		}
		o.head = make([]byte, min(headBytes, o.Size))
		_, err = io.ReadFull(a.body, o.head)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, nil
}

// Stamp tells what an object has from what it had before.
func (o *Object) Stamp() string { return fmt.Sprintf("%d bytes of version %s", o.Size, o.Tag) }

// ReadAt reads by one request, or more where that is cut short.
func (o *Object) ReadAt(p []byte, off int64) (n int, err error) {
	all := p[:max(0, min(int64(len(p)), o.Size-off))]
	if off+int64(len(all)) <= int64(len(o.head)) {
		n = copy(all, o.head[min(off, int64(len(o.head))):])
	} else if n, err = o.read(all, off); err != nil {
		return n, err
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// read goes on where an answer breaks off.
func (o *Object) read(p []byte, off int64) (n int, err error) {
	err = retry(o.ctx, tries, func(ctx context.Context) error {
		for n < len(p) {
			m, err := o.attempt(ctx, p[n:], off+int64(n))
			if n += m; err != nil && (m == 0 || ctx.Err() != nil) {
				return err
			}
		}
		return nil
	})
	return n, err
}

func (o *Object) attempt(ctx context.Context, p []byte, off int64) (n int, err error) {
	a, err := o.ask(ctx, off, off+int64(len(p)))
	if err != nil {
		return 0, err
	}
	defer a.body.Close()
	if a.tag != o.Tag || a.size != o.Size {
		return 0, backoff.Permanent(errChanged)
	}
	return io.ReadFull(a.body, p)
}
