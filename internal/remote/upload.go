package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

const (
	// MinPart is the least size of a part but the last, and MaxParts the most that an object may have: so S3 has it.
	MinPart  = 5 << 20
	MaxParts = 10000

	maxParallel = 32 // parts that are filled or sent at a time, those of lent memory counted
	abortTime   = 30 * time.Second
)

// copyBytes is what one request copies at most: it takes seconds, and 5 TiB have few parts. It is a variable for tests.
var copyBytes int64 = 1 << 30

var (
	// ErrMissing says that there is no such object, and ErrExists that there is one where a new one was wanted.
	ErrMissing = errors.New("no such object")
	ErrExists  = errors.New("it already exists")

	// ErrGone says that somebody else has the store forget the parts of an upload.
	ErrGone = errors.New("its upload was aborted by another process")
)

// Upload is an object that is written from its beginning to its end, in parts of which several are sent at the same
// time. It appears whole when Commit returns, or not at all; what stands under the name is replaced then.
type Upload struct {
	New    bool   // nothing is replaced: Commit gives ErrExists
	Lender Lender // of memory for more parts than the upload has of its own; nil: there is none

	name  string
	store Store
	part  int // bytes of a part

	ctx    context.Context
	cancel context.CancelFunc
	group  *safely.Group // sends parts
	free   chan *buffer
	most   int       // buffers that there are
	filled *buffer   // of the part that is being written; nil: none is
	tags   []*string // of the parts that were sent, or are
	bytes  int64
	over   bool
}

// Lender has memory that an upload may use while its owner does not.
type Lender interface {
	Lend(bytes int64) bool
	Return(bytes int64)
}

// buffer is memory for a part. It is not of the Go heap, which would grow by as much again before it is collected.
type buffer struct {
	memory *arena.Memory // nil before it is used
	bytes  int           // that were written to it
	lent   bool
}

// A Store receives the parts of one object. Put sends a part, Copy appends a range of another object without moving
// its bytes here, Complete makes the object appear (if fresh, only if there is none yet), and Abort gives it up.
type Store interface {
	Put(ctx context.Context, number int, part []byte) (tag string, err error)
	Copy(ctx context.Context, number int, from *Object, first, end int64) (tag string, err error)
	Complete(ctx context.Context, tags []string, fresh bool) error
	Abort(ctx context.Context) error
}

// NewUpload returns an upload that sends parts of part bytes to a store, up to parallel of them at a time.
func NewUpload(ctx context.Context, name string, to Store, part, parallel int) *Upload {
	u := &Upload{name: name, store: to, part: part, most: parallel}
	u.free = make(chan *buffer, max(parallel, maxParallel))
	ctx, u.cancel = context.WithCancel(ctx)
	u.group, u.ctx = safely.WithContext(ctx)
	for range parallel {
		u.free <- &buffer{}
	}
	return u
}

// Write fills parts, and sends those that are full.
func (u *Upload) Write(p []byte) (n int, err error) {
	for n < len(p) {
		if err := u.buffer(); err != nil {
			return n, fmt.Errorf("write %s at byte %d: %w", u.name, u.bytes, err)
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
		return fmt.Errorf("an object can have %d parts at most, of %d bytes here: raise %v for larger "+
			"ones", MaxParts, u.part, option.MemoryBytes)
	}
	if err := u.await(); err != nil || u.filled.memory != nil {
		return err
	}
	var err error
	u.filled.memory, err = arena.Alloc(u.part)
	return err
}

// await takes a buffer that is free, else one of lent memory, or waits for one.
func (u *Upload) await() error {
	if len(u.free) == 0 && u.most < cap(u.free) && u.Lender != nil && u.Lender.Lend(int64(u.part)) {
		u.most, u.filled = u.most+1, &buffer{lent: true}
		return nil
	}
	select {
	case u.filled = <-u.free:
		return nil
	case <-u.ctx.Done():
		return context.Cause(u.ctx)
	}
}

// freeAll frees the memory of all parts. REQUIRES: none is being sent.
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

// send sends the part that is filled.
func (u *Upload) send() {
	part := u.filled.memory.Bytes()[:u.filled.bytes]
	u.ask(func(ctx context.Context, number int) (string, error) { return u.store.Put(ctx, number, part) })
}

// ask has the store take a part, while nobody else uses the buffer.
func (u *Upload) ask(take func(ctx context.Context, number int) (tag string, err error)) {
	buffer, tag := u.filled, new(string)
	u.filled, u.tags = nil, append(u.tags, tag)
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

// Copy appends an object of the same store, whose bytes do not come here. REQUIRES: what was appended so before has
// MinPart bytes, and nothing was written.
func (u *Upload) Copy(from *Object) error {
	pieces := (from.Size + copyBytes - 1) / copyBytes
	for i := range pieces {
		if err := u.buffer(); err != nil {
			return fmt.Errorf("copy %s to %s: %w", from.Name, u.name, err)
		}
		u.ask(func(ctx context.Context, number int) (string, error) {
			return u.store.Copy(ctx, number, from, from.Size*i/pieces, from.Size*(i+1)/pieces)
		})
	}
	return nil
}

// Commit makes the object appear. It has the bytes written so far. If ctx is cancelled while the store completes the
// object, Commit returns without knowing whether the object has appeared.
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

// Abort gives up the object and has the store forget its parts. It does nothing after Commit.
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
		return fmt.Errorf("give up the parts of %s, which stay in the store until it removes them: %w",
			u.name, WithoutURL(err))
	}
	return nil
}
