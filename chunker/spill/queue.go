package spill

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/arena"
)

// Queue is the memory of the requests by which the input, spill and the output go past the page cache: each needs some
// of its own, since the disk takes it from there. Half of them read, so that neither way waits for the other.
type Queue struct {
	RequestBytes int // memory of one request

	memory        *arena.Memory
	reads, writes chan []byte
	ahead         chan struct{} // as many as hold what nobody has asked for
	flying        sync.WaitGroup
}

// askedReads are the requests that read nothing ahead, so that what is asked for now can always be read.
const askedReads = 4

// NewQueue makes a queue of so many requests, each with so many bytes of memory.
func NewQueue(requests, requestBytes int) (*Queue, error) {
	memory, err := arena.Alloc(requests*requestBytes + plan.SpillAlign)
	if err != nil {
		return nil, err
	}
	reads := requests / 2
	q := &Queue{memory: memory, RequestBytes: requestBytes,
		reads: make(chan []byte, reads), writes: make(chan []byte, requests-reads),
		ahead: make(chan struct{}, max(reads-askedReads, 0))}
	all := memory.Bytes()
	all = all[-uintptr(unsafe.Pointer(unsafe.SliceData(all)))%plan.SpillAlign:]
	for i := range requests {
		one := all[i*requestBytes : (i+1)*requestBytes : (i+1)*requestBytes]
		if i < reads {
			q.reads <- one
		} else {
			q.writes <- one
		}
	}
	return q, nil
}

// Writers is how many requests write.
func (q *Queue) Writers() int { return cap(q.writes) }

// Read waits for memory to read into, and calls read with it.
func (q *Queue) Read(read func(memory []byte)) {
	memory := <-q.reads
	defer func() { q.reads <- memory }()
	read(memory)
}

// Ahead is how many requests may read what nobody has asked for.
func (q *Queue) Ahead() int { return cap(q.ahead) }

// TakeAhead gives memory to read that into; nil: there is none.
func (q *Queue) TakeAhead() []byte {
	select {
	case q.ahead <- struct{}{}:
	default:
		return nil
	}
	select {
	case memory := <-q.reads:
		return memory
	default:
		<-q.ahead
		return nil
	}
}

// GiveAhead gives it back when it has been asked for.
func (q *Queue) GiveAhead(memory []byte) {
	<-q.ahead
	q.reads <- memory
}

// TakeWrite waits for memory to write from.
func (q *Queue) TakeWrite() []byte { return <-q.writes }

// GiveWrite gives it back when it has been written.
func (q *Queue) GiveWrite(memory []byte) { q.writes <- memory }

// Go does a request while its caller goes on.
func (q *Queue) Go(request func()) { q.flying.Go(request) }

// wait waits until no request that Go does is under way. It does nothing on nil. REQUIRES: nobody begins one.
func (q *Queue) wait() {
	if q != nil {
		q.flying.Wait()
	}
}

// Close gives the memory back. It does nothing on nil.
func (q *Queue) Close() error {
	if q == nil {
		return nil
	}
	q.wait()
	return q.memory.Free()
}

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
	for at := 0; at < len(block); at += b.RequestBytes {
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

// blocksAhead reads blocks of a run ahead of whoever reads them, each once and about in order, past the page cache.
type blocksAhead struct {
	spill *Spill
	run   *Run

	mu       sync.Mutex
	next, to int              // the first block that nobody has asked for, and where they end
	fetched  map[int]*fetched // blocks that nobody has read
}

// fetched is a block that a request reads.
type fetched struct {
	memory []byte
	done   chan struct{}
	err    error
}

// begin asks for what there is memory for. REQUIRES: a.mu is held.
func (a *blocksAhead) begin() {
	for ; a.next < a.to; a.next++ {
		b := &a.run.blocks[a.next]
		v := a.spill.volumes[b.Volume]
		if v.behind == nil || aligned(b.Bytes) > int64(v.behind.RequestBytes) {
			continue
		}
		memory := v.behind.TakeAhead()
		if memory == nil {
			return
		}
		f := &fetched{memory: memory, done: make(chan struct{})}
		a.fetched[a.next] = f
		v.behind.Go(func() {
			defer close(f.done)
			if n, err := v.file.ReadAt(memory[:aligned(b.Bytes)], b.Offset); n < b.Bytes {
				f.err = err
			}
		})
	}
}

// read is that of a Run.
func (a *blocksAhead) read(b *Block, dst []byte) ([]byte, error) {
	i := a.run.blockOf(b.First)
	a.mu.Lock()
	a.begin()
	f := a.fetched[i]
	delete(a.fetched, i)
	a.next = max(a.next, i+1)
	a.mu.Unlock()
	if f == nil {
		return a.spill.get(b, dst)
	}
	recs, err := a.spill.decode(b, dst, func(stored []byte) error {
		<-f.done
		copy(stored, f.memory)
		return f.err
	})
	<-f.done
	a.spill.behind.GiveAhead(f.memory)
	return recs, err
}
