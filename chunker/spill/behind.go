package spill

import (
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// uncacheable is a file of a Store that can be read and written past the page cache: at offsets, in lengths and with
// memory that are all multiples of SpillAlign.
type uncacheable interface {
	// Uncache has that done from now on. It reports false where the file system cannot.
	Uncache() bool

	// Allocate makes room for bytes that will be written.
	Allocate(offset, bytes int64) error
}

// behind writes blocks while their writer goes on, and reads them, past the page cache.
type behind struct {
	*Queue
	failed atomic.Pointer[error] // the first error of any write
}

// readsAtOnce is how many blocks one worker reads past the page cache.
const readsAtOnce = 4

// write takes a copy of a block. done is told when the last of it is in the file, or has failed.
func (b *behind) write(file File, block []byte, offset int64, done *errgroup.Group) error {
	for at := 0; at < len(block); at += b.RequestBytes() {
		memory := b.TakeWrite()
		n := aligned(copy(memory, block[at:]))
		b.flying.Add(1)
		done.Go(func() error {
			defer b.flying.Done()
			_, err := file.WriteAt(memory[:n], offset+int64(at))
			if err != nil {
				b.failed.CompareAndSwap(nil, &err)
			}
			b.GiveWrite(memory)
			return err
		})
	}
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (b *behind) read(file File, p []byte, offset int64) (err error) {
	for len(p) > 0 && err == nil {
		b.Read(func(memory []byte) {
			var got int
			n := min(len(p), len(memory))
			if got, err = file.ReadAt(memory[:aligned(n)], offset); got >= n {
				err = nil
			}
			copy(p[:n], memory)
			p, offset = p[n:], offset+int64(n)
		})
	}
	return err
}
