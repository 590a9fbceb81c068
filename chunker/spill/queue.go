package spill

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/internal/safely"
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

// TakeAhead gives memory to read that into, and what gives it back when it has been asked for; nil: there is none.
func (q *Queue) TakeAhead() (memory []byte, give func()) {
	select {
	case q.ahead <- struct{}{}:
	default:
		return nil, nil
	}
	select {
	case memory = <-q.reads:
		return memory, func() { <-q.ahead; q.reads <- memory }
	default:
		<-q.ahead
		return nil, nil
	}
}

// TakeWrite waits for memory to write from.
func (q *Queue) TakeWrite() []byte { return <-q.writes }

// GiveWrite gives it back when it has been written.
func (q *Queue) GiveWrite(memory []byte) { q.writes <- memory }

// Go does a request while its caller goes on, also on nil. done is called with its error when it has ended.
func (q *Queue) Go(request func() error, done func(error)) {
	if q != nil {
		q.flying.Add(1)
	}
	go func() {
		if q != nil {
			defer q.flying.Done()
		}
		done(safely.Call(request))
	}()
}

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
func (b *behind) write(file File, block []byte, offset int64, done *safely.Group) error {
	for at := 0; at < len(block); at += b.RequestBytes {
		memory := b.TakeWrite()
		n := aligned(copy(memory, block[at:]))
		b.flying.Add(1)
		done.Go(func() error {
			defer b.flying.Done()
			defer b.GiveWrite(memory)
			err := safely.Call(func() error {
				_, err := file.WriteAt(memory[:n], offset+int64(at))
				return err
			})
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

// ahead has the blocks of a run up to one be read ahead, past the page cache.
func (s *Spill) ahead(run *Run, from, to int) *Window {
	return &Window{next: int64(from), Units: int64(to), Queue: s.behind.Queue,
		Take:  func(int) ([]byte, func()) { return s.behind.TakeAhead() },
		Leave: func() {},
		Request: func(memory []byte, i, _ int64) (int64, func() ([]byte, error)) {
			b, err := run.entry(int(i))
			if err != nil { // who asks for the block meets it again
				return 1, nil
			}
			v := s.volumes[b.Volume]
			if v.behind == nil || aligned(b.Bytes) > int64(len(memory)) {
				return 1, nil
			}
			return 1, func() ([]byte, error) {
				n, err := v.file.ReadAt(memory[:aligned(b.Bytes)], b.Offset)
				if n >= b.Bytes {
					err = nil
				}
				return memory, err
			}
		},
		Now: func(p []byte, i int64) error {
			b, err := run.entry(int(i))
			if err != nil {
				return err
			}
			return s.volumes[b.Volume].read(p, b.Offset)
		},
	}
}
