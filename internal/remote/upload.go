package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/fileerr"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

const (
	// MinPart is the minimum size of a part other than the last, and MaxParts is the maximum
	// number of parts of an object. Both are limits of S3.
	MinPart  = 5 << 20
	MaxParts = 10000

	// maximum number of parts that are filled or sent at a time, including those in borrowed memory
	maxParallel = 32
	abortTime   = 30 * time.Second
)

// copyBytes is the maximum size of a copy request. In most stores, such a request takes seconds, and 5 TiB
// consist of few parts. It is a variable for tests.
var copyBytes int64 = 1 << 30

var (
	// ErrMissing reports that an object does not exist, and ErrExists that an object already exists
	// although it must be new.
	ErrMissing = errors.New("no such object")
	ErrExists  = errors.New("it already exists")

	// ErrGone reports that another process has aborted the upload.
	ErrGone = errors.New("its upload was aborted by another process")
)

// An Upload is an object that is written sequentially. Several of its parts are sent concurrently.
// It appears whole when Commit returns, or not at all, and then replaces an existing object.
type Upload struct {
	NeverReplaces bool // do not replace an object: Commit returns ErrExists

	name  string
	store Store
	part  int // size of a part in bytes

	ctx    context.Context
	cancel context.CancelFunc
	group  *safely.Group // sends parts
	memory *blockio.Pool // memory of the parts; sending a part is a write
	begun  *blockio.Buf  // the part that is being filled; may be nil
	filled int           // number of bytes in begun
	tags   []*string     // of all parts that have been sent or are being sent
	bytes  int64
	isOver bool
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
		name:   name,
		store:  to,
		part:   part,
		memory: blockio.NewPool(blockio.Options{Bytes: part, Writes: parallel}),
	}
	ctx, u.cancel = context.WithCancel(ctx)
	u.group, u.ctx = safely.WithContext(ctx)
	return u
}

// Borrow lets the upload use the memory of read requests while nothing is read, so that it can send
// more parts at a time. from may be nil.
func (u *Upload) Borrow(from *blockio.Pool) {
	if from != nil {
		u.memory.Borrow(from, maxParallel)
	}
}

// Write fills parts and sends each part when it is full.
func (u *Upload) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if err := u.begin(); err != nil {
			return n, &fileerr.Error{Op: "write", File: u.name, Offset: u.bytes, Err: err}
		}
		m := copy(u.begun.Bytes[u.filled:], p[n:])
		n += m
		u.filled += m
		u.bytes += int64(m)
		if u.filled == u.part {
			u.send()
		}
	}

	return n, nil
}

// begin waits for the memory of a part, unless a part has begun.
func (u *Upload) begin() (err error) {
	if u.begun != nil {
		return nil
	}
	if len(u.tags) == MaxParts {
		return fmt.Errorf(
			"an object can have %d parts at most, of %d bytes here: raise %v for larger "+
				"ones",
			MaxParts, u.part, option.MemoryBytes,
		)
	}
	u.begun, err = u.memory.Get(u.ctx, blockio.Write)
	return err
}

// freeAll frees the memory of all parts. REQUIRES: no part is being sent
func (u *Upload) freeAll() {
	if u.begun != nil {
		u.begun.Release()
		u.begun = nil
	}
	_ = u.memory.Close() // a failure costs only address space
}

// send sends the filled part.
func (u *Upload) send() {
	part := u.begun.Bytes[:u.filled]
	u.transfer(attemptTime, func(ctx context.Context, number int) (string, error) {
		return u.store.Put(ctx, number, part)
	})
}

// transfer passes a part to the store. Its memory is not used again until that is done. limit is the
// time of one attempt.
func (u *Upload) transfer(limit time.Duration, take func(ctx context.Context, number int) (tag string, err error)) {
	part := u.begun
	tag := new(string)
	u.begun = nil
	u.filled = 0
	u.tags = append(u.tags, tag)
	number := len(u.tags)
	u.group.Go(func() error {
		defer part.Release()
		return retryFor(u.ctx, limit, tries, func(ctx context.Context) (err error) {
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
		if err := u.begin(); err != nil {
			return fmt.Errorf("copy %s to %s: %w", from.Name, u.name, err)
		}
		u.transfer(copyTime, func(ctx context.Context, number int) (string, error) {
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
	if err == nil && u.begun != nil {
		u.send()
	}
	if err = cmp.Or(err, u.group.Wait(), context.Cause(ctx)); err == nil {
		tags := make([]string, len(u.tags))
		for i, tag := range u.tags {
			tags[i] = *tag
		}
		err = retryFor(ctx, copyTime, tries, func(ctx context.Context) error {
			return u.store.Complete(ctx, tags, u.NeverReplaces)
		})
	}

	if err != nil {
		return fmt.Errorf("finish output %s: %w", u.name, errors.Join(err, u.Abort()))
	}
	u.isOver = true
	u.cancel()
	u.freeAll()
	return nil
}

// Abort discards the object and its parts. It does nothing after Commit.
func (u *Upload) Abort() error {
	if u.isOver {
		return nil
	}
	u.isOver = true
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
