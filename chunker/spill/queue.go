package spill

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/internal/safely"
)

// A Queue holds the memory of direct I/O requests of the input, the spill files and the output.
// Each request needs its own memory, because the disk transfers data directly from or to it. Half
// of the memory is for reading, so that neither direction waits for the other.
type Queue struct {
	RequestBytes int // memory of one request

	memory        *arena.Memory
	reads, writes chan []byte
	ahead         chan struct{} // limits the number of requests that read ahead
	flying        sync.WaitGroup
}

// demandReads is the number of read requests that are never used for reading ahead, so that data
// needed now can always be read.
const demandReads = 4

// NewQueue returns a queue with the given number of requests, each with requestBytes bytes of
// memory.
func NewQueue(requests, requestBytes int) (*Queue, error) {
	memory, err := arena.Alloc(requests*requestBytes + plan.SpillAlign)
	if err != nil {
		return nil, err
	}
	reads := requests / 2
	q := &Queue{
		memory:       memory,
		RequestBytes: requestBytes,
		reads:        make(chan []byte, reads),
		writes:       make(chan []byte, requests-reads),
		ahead:        make(chan struct{}, max(reads-demandReads, 0)),
	}
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

// Writers returns the number of requests for writing.
func (q *Queue) Writers() int { return cap(q.writes) }

// Read waits for the memory of a read request and calls read with it.
func (q *Queue) Read(read func(memory []byte)) {
	memory := <-q.reads
	defer func() { q.reads <- memory }()
	read(memory)
}

// Ahead returns the maximum number of requests that may read ahead.
func (q *Queue) Ahead() int { return cap(q.ahead) }

// TakeAhead returns memory for reading ahead, and a function that returns it to the queue. It
// returns nil if none exists.
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

// TakeWrite waits for the memory of a write request.
func (q *Queue) TakeWrite() []byte { return <-q.writes }

// GiveWrite returns the memory of a write request to the queue.
func (q *Queue) GiveWrite(memory []byte) { q.writes <- memory }

// Go runs a request in a goroutine and calls done with its error. q may be nil.
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

// wait waits until all requests started by Go have ended. q may be nil. REQUIRES: no request is
// started in the meantime
func (q *Queue) wait() {
	if q != nil {
		q.flying.Wait()
	}
}

// Close frees the memory. q may be nil.
func (q *Queue) Close() error {
	if q == nil {
		return nil
	}
	q.wait()
	return q.memory.Free()
}

// uncacheable is implemented by files of a Store that support direct I/O: with offsets, lengths
// and memory that are multiples of SpillAlign.
type uncacheable interface {
	// Uncache switches the file to direct I/O. It returns false if the file system does not
	// support that.
	Uncache() bool

	// Allocate reserves disk space for a range that will be written.
	Allocate(offset, bytes int64) error
}

// directIO writes blocks asynchronously and reads them, both with direct I/O.
type directIO struct {
	*Queue
	failed atomic.Pointer[error] // the first error of any write
}

// readsAtOnce is the number of blocks that one worker reads concurrently with direct I/O.
const readsAtOnce = 4

// write copies a block and starts writing it. done receives the result of each part of the block.
func (b *directIO) write(file File, block []byte, offset int64, done *safely.Group) error {
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

func (b *directIO) read(file File, p []byte, offset int64) (err error) {
	for len(p) > 0 && err == nil {
		b.Read(func(memory []byte) {
			var got int
			n := min(len(p), len(memory))
			if got, err = file.ReadAt(memory[:aligned(n)], offset); got >= n {
				err = nil
			}
			copy(p[:n], memory)
			p = p[n:]
			offset += int64(n)
		})
	}

	return err
}

// prefetch returns a Prefetcher that reads the blocks [from, to) of a run ahead, with direct I/O.
func (s *Spill) prefetch(run *Run, from, to int) *Prefetcher {
	return &Prefetcher{next: int64(from), Units: int64(to), Queue: s.direct.Queue,
		Take:  func(int) ([]byte, func()) { return s.direct.TakeAhead() },
		Leave: func() {},
		Request: func(memory []byte, i, _ int64) (int64, func() ([]byte, error)) {
			b, err := run.entry(int(i))
			if err != nil { // the reader of the block gets the same error
				return 1, nil
			}
			v := s.volumes[b.Volume]
			if v.direct == nil || aligned(b.Bytes) > int64(len(memory)) {
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
