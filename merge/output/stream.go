package output

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/extsort/extsort/chunker/input/pipe"
)

// StreamSink is a BlockWriter that writes blocks in order to a stream: a pipe, or a compressor on top of a file. They
// come in any order, and a goroutine writes them as soon as all before them have come. After the first error, which may
// be syscall.EPIPE, all calls return it.
//
// It is a device.Taker: who sorts need not wait for the reader of a pipe, which has a processor less while they do.
type StreamSink struct {
	write, take func([]byte) (int, error)
	taker       pipe.Taker // nil: the stream copies what it is given
	size        int        // record size

	mu      sync.Mutex
	next    int64 // first record that has not been written
	pending map[int64]streamBlock
	failed  error
	failing chan struct{} // closed when failed is set
	room    chan struct{} // closed when TakeBlock may go on; nil: no call waits for that

	writing bool // a goroutine is in drain
	writer  sync.WaitGroup
}

// streamBlock is a block on its way to the stream.
type streamBlock struct {
	ctx   context.Context // of its writer
	recs  []byte
	write func([]byte) (int, error)
	done  func(error)
}

// queued is how many blocks TakeBlock takes over before they are written: with blocks of a device that gives its memory
// away, these take no more memory than before.
const queued = 256

// NewStreamSink makes a sink of records of recordSize bytes. What stands before the first record, the caller has
// written to w.
func NewStreamSink(w io.Writer, recordSize int) *StreamSink {
	s := &StreamSink{
		write: w.Write, take: w.Write, size: recordSize,
		pending: map[int64]streamBlock{}, failing: make(chan struct{}),
	}
	if taker, ok := w.(pipe.Taker); ok {
		s.taker, s.take = taker, taker.Take
	}
	return s
}

// WriteBlock writes recs when all records before them have been written.
func (s *StreamSink) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	written := make(chan error, 1)
	s.mu.Lock()
	err := s.put(first, streamBlock{ctx, recs, s.write, func(err error) { written <- err }})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case err := <-written:
		return err
	case <-s.failing:
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.fail(context.Cause(ctx))
	_, waits := s.pending[first]
	delete(s.pending, first)
	s.mu.Unlock()
	if waits {
		return s.failed
	}
	return <-written
}

// Takes implements device.Taker.
func (s *StreamSink) Takes() bool { return s.taker != nil && s.taker.Takes() }

// TakeBlock has recs given to the stream when all records before them have been. It waits only if much is pending.
func (s *StreamSink) TakeBlock(ctx context.Context, first int64, recs []byte, done func(error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.failed == nil && first != s.next && len(s.pending) >= queued {
		if s.room == nil {
			s.room = make(chan struct{})
		}
		room := s.room
		s.mu.Unlock()
		select {
		case <-room:
			s.mu.Lock()
		case <-ctx.Done():
			s.mu.Lock()
			s.fail(context.Cause(ctx))
		}
	}
	return s.put(first, streamBlock{ctx, recs, s.take, done})
}

// put has a block written in its turn. REQUIRES: s is locked.
func (s *StreamSink) put(first int64, b streamBlock) error {
	if s.failed != nil {
		return s.failed
	}
	if _, twice := s.pending[first]; twice || first < s.next {
		return fmt.Errorf("record %d is written twice", first)
	}
	s.pending[first] = b
	if first == s.next && !s.writing {
		s.writing = true
		s.writer.Go(s.drain)
	}
	return nil
}

// fail ends all calls with err, unless another error has; nil is none. REQUIRES: s is locked.
func (s *StreamSink) fail(err error) {
	if s.failed != nil || err == nil {
		return
	}
	s.failed = err
	close(s.failing)
	s.makeRoom()
	if !s.writing {
		s.writing = true
		s.writer.Go(s.drain)
	}
}

func (s *StreamSink) makeRoom() {
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
}

// drain writes blocks until the next one is missing. After a failure it gives all blocks back.
func (s *StreamSink) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		first, b, due := s.due()
		if !due {
			break
		}
		delete(s.pending, first)
		if s.failed == nil {
			s.fail(context.Cause(b.ctx))
		}
		err := s.failed
		s.mu.Unlock()
		if err == nil && len(b.recs) > 0 {
			if _, err = b.write(b.recs); err != nil {
				err = fmt.Errorf("write record %d (byte %d): %w", first, first*int64(s.size), err)
			}
		}
		s.pass(int64(len(b.recs)/s.size), err)
		b.done(err)
		s.mu.Lock()
	}
	s.writing = false
}

// due is the block to be written next; after a failure, any block. REQUIRES: s is locked.
func (s *StreamSink) due() (first int64, b streamBlock, due bool) {
	if s.failed == nil {
		b, due = s.pending[s.next]
		return s.next, b, due
	}
	for first, b := range s.pending {
		return first, b, true
	}
	return 0, b, false
}

// pass goes on behind so many records, or ends all calls with an error.
func (s *StreamSink) pass(records int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fail(err)
		return
	}
	s.next += records
	_, more := s.pending[s.next]
	if !more || len(s.pending) <= queued/2 { // sooner, givers and the stream's reader would take turns for each block
		s.makeRoom()
	}
}

// Close returns when all that came has been written, or with the error of the first write that failed. REQUIRES: no
// more blocks come.
func (s *StreamSink) Close() error {
	s.writer.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Records is the number of records written so far.
func (s *StreamSink) Records() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next
}
