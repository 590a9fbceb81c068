package spill

import (
	"sync"
	"unsafe"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device/arena"
)

// Queue is the memory of the requests by which the input, spill and the output go past the page cache: each needs some
// of its own, since the disk takes it from there. Half of them read, so that neither way waits for the other.
type Queue struct {
	memory        *arena.Memory
	requestBytes  int
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
	q := &Queue{memory: memory, requestBytes: requestBytes,
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

// RequestBytes is the memory of one request.
func (q *Queue) RequestBytes() int { return q.requestBytes }

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
