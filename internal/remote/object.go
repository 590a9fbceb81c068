package remote

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cenkalti/backoff/v5"
)

// An Object is a remote file with random access.
type Object struct {
	Name string // for messages; see Shown
	Size int64  // in bytes
	Tag  string // distinguishes versions of the object: its ETag

	ctx  context.Context // context of the reading run, because io.ReaderAt has none
	get  Getter
	head []byte // the first bytes
}

// A Getter sends one request for the bytes [first, end), or fewer if the object ends earlier. tag
// is the tag that the object had when it was opened, or "" before that.
type Getter func(ctx context.Context, first, end int64, tag string) (*Response, error)

// A Response is the response to a request for a range.
type Response struct {
	Body io.ReadCloser
	Size int64 // of the whole object, in bytes
	Tag  string
}

// Errors of a Getter. NewObject takes ErrEmpty for an object without bytes.
var (
	ErrChanged  = errors.New("it changed while it was being read; try again")
	ErrEmpty    = errors.New("it is empty") // an empty object has no range to request
	ErrNoRanges = errors.New(
		"the server does not support range requests: download the file first, or pipe it in",
	)
	errNoTag = errors.New(
		"the server sends neither ETag nor Last-Modified, so changes cannot be " +
			"detected: download the file first",
	)
)

// headBytes is the number of bytes read when an object is opened. Most headers fit into it.
const headBytes = 4 << 10

// NewObject requests the first bytes, the size and the tag of an object. Cancelling ctx also ends
// later reads.
func NewObject(ctx context.Context, name string, get Getter) (*Object, error) {
	o := &Object{Name: name, ctx: ctx, get: get}
	err := retry(ctx, openTries, func(ctx context.Context) error {
		r, err := get(ctx, 0, headBytes, "")
		if errors.Is(err, ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		defer r.Body.Close()
		o.Size = r.Size
		o.Tag = r.Tag
		if o.Tag == "" {
			return backoff.Permanent(errNoTag)
		}
		o.head = make([]byte, min(headBytes, o.Size))
		_, err = io.ReadFull(r.Body, o.head)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, nil
}

// Stamp distinguishes the content of an object from earlier content.
func (o *Object) Stamp() string {
	return fmt.Sprintf("%d bytes of version %s", o.Size, o.Tag)
}

// ReadAt reads with one request, or with more if a response is truncated.
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

// read reads a range, with another request for the rest if a response is truncated.
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

// attempt requests the bytes of p at offset off, without retries. After an error, n is the number
// of bytes read.
func (o *Object) attempt(ctx context.Context, p []byte, off int64) (n int, err error) {
	r, err := o.request(ctx, off, off+int64(len(p)))
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	if r.Tag != o.Tag || r.Size != o.Size {
		return 0, backoff.Permanent(ErrChanged)
	}
	return io.ReadFull(r.Body, p)
}
