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
	get  Getter
	head []byte // its first bytes
}

// A Getter sends one request for the bytes from first up to end; there are fewer if the object ends earlier. tag is the
// tag of the object as it was opened, or "" before that.
type Getter func(ctx context.Context, first, end int64, tag string) (*Answer, error)

// An Answer is the response to a request for a range.
type Answer struct {
	Body io.ReadCloser
	Size int64 // of the whole object, in bytes
	Tag  string
}

// The errors of a Getter that NewObject and ReadAt know.
var (
	ErrChanged  = errors.New("it changed while it was being read; try again")
	ErrEmpty    = errors.New("it is empty") // an empty object has no range to request
	ErrNoRanges = errors.New("the server does not support range requests: download the file first, or pipe it in")
	errNoTag    = errors.New("the server sends neither ETag nor Last-Modified, so changes cannot be " +
		"detected: download the file first")
)

// headBytes is what is read when an object is opened: most headers are in it.
const headBytes = 4 << 10

// NewObject reads the first bytes of an object, its size and its tag. Reading ends when ctx is cancelled.
func NewObject(ctx context.Context, name string, get Getter) (*Object, error) {
	o := &Object{Name: name, ctx: ctx, get: get}
	err := retry(ctx, openTries, func(ctx context.Context) error {
		a, err := get(ctx, 0, headBytes, "")
		if errors.Is(err, ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		defer a.Body.Close()
		if o.Size, o.Tag = a.Size, a.Tag; o.Tag == "" {
			return backoff.Permanent(errNoTag)
		}
		o.head = make([]byte, min(headBytes, o.Size))
		_, err = io.ReadFull(a.Body, o.head)
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
	defer a.Body.Close()
	if a.Tag != o.Tag || a.Size != o.Size {
		return 0, backoff.Permanent(ErrChanged)
	}
	return io.ReadFull(a.Body, p)
}
