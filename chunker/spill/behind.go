package spill

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/arena"
)

// uncacheable is a file of a Store that can be read and written past the page cache: at offsets, in lengths and with
// memory that are all multiples of SpillAlign.
type uncacheable interface {
	// Uncache has that done from now on. It reports false where the file system cannot.
	Uncache() bool

	// Allocate makes room for bytes that will be written.
	Allocate(offset, bytes int64) error
}

// slotBytes is the memory of one request.
const slotBytes = plan.RequestBytes

// behind writes blocks while their writer goes on, and reads them, past the page cache. What is larger than the page
// cache gains nothing from it, and pays for a copy, for the pages that have to be found for it, and for those that are
// thrown out. Each request needs memory of its own, a slot, since the disk takes it from there.
type behind struct {
	memory *arena.Memory
	slots  chan []byte
	failed atomic.Pointer[error] // the first error of any write
}

// readsAtOnce is how many blocks one worker reads past the page cache.
const readsAtOnce = 4

// newBehind divides memory among requests; nil: there is none.
func newBehind(bytes int64) (*behind, error) {
	n := int(bytes / slotBytes)
	if n == 0 {
		return nil, nil
	}
	memory, err := arena.Alloc(n*slotBytes + plan.SpillAlign)
	if err != nil {
		return nil, err
	}
	b := &behind{memory: memory, slots: make(chan []byte, n)}
	all := memory.Bytes()
	all = all[-uintptr(unsafe.Pointer(unsafe.SliceData(all)))%plan.SpillAlign:]
	for i := range n {
		b.slots <- all[i*slotBytes : (i+1)*slotBytes : (i+1)*slotBytes]
	}
	return b, nil
}

// write takes a copy of a block. done is told when the last of it is in the file, or has failed.
func (b *behind) write(file File, block []byte, offset int64, done *errgroup.Group) error {
	for at := 0; at < len(block); at += slotBytes {
		slot := <-b.slots
		n := aligned(copy(slot, block[at:]))
		done.Go(func() error {
			defer func() { b.slots <- slot }()
			_, err := file.WriteAt(slot[:n], offset+int64(at))
			if err != nil {
				b.failed.CompareAndSwap(nil, &err)
			}
			return err
		})
	}
	if err := b.failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (b *behind) read(file File, p []byte, offset int64) error {
	for at := 0; at < len(p); at += slotBytes {
		slot := <-b.slots
		n := min(len(p)-at, slotBytes)
		got, err := file.ReadAt(slot[:aligned(n)], offset+int64(at))
		copy(p[at:at+n], slot)
		b.slots <- slot
		if got < n {
			return err
		}
	}
	return nil
}

func (b *behind) close() error {
	if b == nil {
		return nil
	}
	for range cap(b.slots) {
		<-b.slots
	}
	return b.memory.Free()
}
