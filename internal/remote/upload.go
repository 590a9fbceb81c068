package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/internal/fileerr"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

const (
	// MinPart is the minimum size of a part other than the last, and MaxParts is the maximum
	// number of parts of an object. Both are limits of S3.
	MinPart  = 5 << 20
	MaxParts = 10000

	// maximum number of parts that are filled or sent at a time, including those in lent memory
	maxParallel = 32
	abortTime   = 30 * time.Second
)

// copyBytes is the maximum size of a copy request. Such a request takes seconds, and 5 TiB
// consist of few parts. It is a variable for tests.
var copyBytes int64 = 1 << 30

var (
	// ErrMissing reports that an object does not exist, and ErrExists that an object exists which
	// should be new.
	ErrMissing = errors.New("no such object")
	ErrExists  = errors.New("it already exists")

	// ErrGone reports that another process has aborted the upload.
	ErrGone = errors.New("its upload was aborted by another process")
)

// An Upload is an object that is written sequentially, in parts of which several are sent
// concurrently. It appears whole when Commit returns, or not at all, and then replaces an
// existing object.
type Upload struct {
	New    bool   // do not replace an object: Commit returns ErrExists
	Lender Lender // provides memory for more parts; may be nil

	name  string
	store Store
	part  int // size of a part in bytes

	ctx    context.Context
	cancel context.CancelFunc
	group  *safely.Group // sends parts
	free   chan *buffer
	most   int       // number of buffers
	filled *buffer   // the part that is being written; may be nil
	tags   []*string // of all parts that have been sent or are being sent
	bytes  int64
	over   bool
}

// A Lender has memory that an upload may use while its owner does not.
type Lender interface {
	Lend(bytes int64) bool
	Return(bytes int64)
}

// A buffer is memory for a part. It is not on the Go heap, which would double in size before it
// is collected.
type buffer struct {
	memory *arena.Memory // nil before first use
	bytes  int           // number of bytes written to it
	lent   bool
}

// A Store receives the parts of one object. Put sends a part. Copy appends a range of another
// object without transferring its bytes to this machine. Complete makes the object appear; if
// fresh is set, only if it does not exist yet. Abort discards the parts.
type Store interface {
	Put(ctx context.Context, number int, part []byte) (tag string, err error)
	Copy(ctx context.Context, number int, from *Object, first, end int64) (tag string, err error)
	Complete(ctx context.Context, tags []string, fresh bool) error
	Abort(ctx context.Context) error
}

// NewUpload returns an upload that sends parts of part bytes to a store, up to parallel of them
// at a time.
func NewUpload(ctx context.Context, name string, to Store, part, parallel int) *Upload {
	u := &Upload{
		name:  name,
		store: to,
		part:  part,
		most:  parallel,
	}
	u.free = make(chan *buffer, max(parallel, maxParallel))
	ctx, u.cancel = context.WithCancel(ctx)
	u.group, u.ctx = safely.WithContext(ctx)

	for range parallel {
		u.free <- &buffer{}
	}
	return u
}

// Write fills parts and sends those that are full.
func (u *Upload) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if err := u.buffer(); err != nil {
			return n, &fileerr.Error{Op: "write", File: u.name, Offset: u.bytes, Err: err}
		}
		m := copy(u.filled.memory.Bytes()[u.filled.bytes:], p[n:])
		u.filled.bytes, n, u.bytes = u.filled.bytes+m, n+m, u.bytes+int64(m)
		if u.filled.bytes == u.part {
			u.send()
		}
	}

	return n, nil
}

// buffer waits for memory for a part.
func (u *Upload) buffer() error {
	if u.filled != nil {
		return nil
	}
	if len(u.tags) == MaxParts {
		return fmt.Errorf(
			"an object can have %d parts at most, of %d bytes here: raise %v for larger "+
				"ones",
			MaxParts, u.part, option.MemoryBytes,
		)
	}
	if err := u.await(); err != nil || u.filled.memory != nil {
		return err
	}
	var err error
	u.filled.memory, err = arena.Alloc(u.part)
	return err
}

// await takes a free buffer or one in lent memory, or waits for one.
func (u *Upload) await() error {
	if len(u.free) == 0 && u.most < cap(u.free) && u.Lender != nil && u.Lender.Lend(int64(u.part)) {
		u.most += 1
		u.filled = &buffer{lent: true}
		return nil
	}

	select {
	case u.filled = <-u.free:
		return nil
	case <-u.ctx.Done():
		return context.Cause(u.ctx)
	}
}

// freeAll frees the memory of all parts. REQUIRES: no part is being sent
func (u *Upload) freeAll() {
	if u.filled != nil {
		u.free <- u.filled
		u.filled = nil
	}

	for range u.most {
		b := <-u.free
		b.memory.Free()
		if b.lent {
			u.Lender.Return(int64(u.part))
		}
	}

	u.most = 0
}

// send sends the filled part.
func (u *Upload) send() {
	part := u.filled.memory.Bytes()[:u.filled.bytes]
	u.transfer(func(ctx context.Context, number int) (string, error) {
		return u.store.Put(ctx, number, part)
	})
}

// transfer passes a part to the store. Its buffer is not reused until that is done.
func (u *Upload) transfer(take func(ctx context.Context, number int) (tag string, err error)) {
	buffer := u.filled
	tag := new(string)
	u.filled = nil
	u.tags = append(u.tags, tag)
	number := len(u.tags)
	u.group.Go(func() error {
		defer func() {
			buffer.bytes = 0
			u.free <- buffer
		}()
		return retry(u.ctx, tries, func(ctx context.Context) (err error) {
			*tag, err = take(ctx, number)
			return err
		})
	})
}

// Copy appends an object of the same store without transferring its bytes to this machine.
// REQUIRES: each object appended before has at least MinPart bytes, and nothing was written
func (u *Upload) Copy(from *Object) error {
	pieces := (from.Size + copyBytes - 1) / copyBytes
	for i := range pieces {
		if err := u.buffer(); err != nil {
			return fmt.Errorf("copy %s to %s: %w", from.Name, u.name, err)
		}
		u.transfer(func(ctx context.Context, number int) (string, error) {
			return u.store.Copy(ctx, number, from, from.Size*i/pieces, from.Size*(i+1)/pieces)
		})
	}

	return nil
}

// Commit makes the object appear, with the bytes written so far. If ctx is cancelled while the
// store completes the object, Commit returns without knowing whether the object has appeared.
func (u *Upload) Commit(ctx context.Context, _ int64) error {
	stop := context.AfterFunc(ctx, u.cancel)
	defer stop()

	err := cmp.Or(context.Cause(ctx), context.Cause(u.ctx))
	if err == nil && u.filled != nil {
		u.send()
	}
	if err = cmp.Or(err, u.group.Wait(), context.Cause(ctx)); err == nil {
		tags := make([]string, len(u.tags))
		for i, tag := range u.tags {
			tags[i] = *tag
		}
		err = retry(ctx, tries, func(ctx context.Context) error {
			return u.store.Complete(ctx, tags, u.New)
		})
	}

	if err != nil {
		return fmt.Errorf("finish output %s: %w", u.name, errors.Join(err, u.Abort()))
	}
	u.over = true
	u.cancel()
	u.freeAll()
	return nil
}

// Abort discards the object and its parts. It does nothing after Commit.
func (u *Upload) Abort() error {
	if u.over {
		return nil
	}
	u.over = true
	u.cancel()
	u.group.Wait()
	u.freeAll()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), abortTime)
	defer cancel()
	if err := u.store.Abort(ctx); err != nil {
		return fmt.Errorf(
			"abort the upload of %s, whose parts stay in the store until it removes them: %w",
			u.name, WithoutURL(err),
		)
	}
	return nil
}
