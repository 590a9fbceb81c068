package output

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/extsort/extsort/chunker/input/pipe"
)

// StreamSink is a BlockWriter that writes the blocks in order to a stream: a pipe, or a compressor on top of a
// file. Calls wait for their turn. After the first error, which may be syscall.EPIPE, all calls return it. It is a
// device.Taker that takes what the stream takes, in any order, and has it written by a goroutine of its own: whoever sorts
// need not wait for the reader of a pipe, which has a processor less as long as they do, nor for each other.
type StreamSink struct {
	w     io.Writer
	taker pipe.Taker // w, or nil
	size  int        // record size

	mu      sync.Mutex
	next    int64 // first record that has not been written
	failed  error
	taken   map[int64]takenBlock // to be written, by their first records
	waiting map[int64]waiter     // calls by their first records
	due     *sync.Cond           // block next has been taken, or writeTaken has to end; nil before the first was taken
	closed  bool
	ended   chan struct{} // no more of what was taken is written
}

// takenBlock is a block on its way to the stream.
type takenBlock struct {
	ctx  context.Context // that its writer gave
	recs []byte
	done func(error)
}

// waiter is a call that waits to be woken.
type waiter struct {
	woken chan struct{}
	taker bool // it waits for room among what is taken
}

// queued is how many blocks a StreamSink takes over before they are written. The CPU gives 128 KiB at a time, see package
// cpu, which had been stored before: so they take no more memory. Of 1 GiB to cat on two cores of a Xeon it took 1.28 s to
// wait for each, 1.23 with a queue of 8 MiB, 1.12 with 32 MiB, and 1.05 since they may come in any order.
const queued = 256

// NewStreamSink makes a sink of records of recordSize bytes. What stands before the first record, the caller
// has written to w.
func NewStreamSink(w io.Writer, recordSize int) *StreamSink {
	taker, _ := w.(pipe.Taker)
	return &StreamSink{w: w, taker: taker, size: recordSize, taken: map[int64]takenBlock{}, waiting: map[int64]waiter{}}
}

// WriteBlock writes recs when all records before them have been written.
func (s *StreamSink) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	s.mu.Lock()
	err := s.await(ctx, first, false)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	err = s.write(first, recs, s.w.Write)
	s.pass(len(recs), err)
	return err
}

// Takes implements device.Taker.
func (s *StreamSink) Takes() bool { return s.taker != nil && s.taker.Takes() }

// TakeBlock has recs given to the stream when all records before them have been. It waits only if much is waiting for that.
func (s *StreamSink) TakeBlock(ctx context.Context, first int64, recs []byte, done func(error)) error {
	if s.taker == nil {
		err := s.WriteBlock(ctx, first, recs)
		if err == nil {
			done(nil)
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.await(ctx, first, true); err != nil {
		return err
	}
	if s.due == nil {
		s.due, s.ended = sync.NewCond(&s.mu), make(chan struct{})
		go s.writeTaken()
	}
	s.taken[first] = takenBlock{ctx, recs, done}
	if first == s.next {
		s.due.Signal()
	}
	return nil
}

// await returns when it is the turn of a call, or there is room for what it wants to have taken, or with the error that
// ended all calls. REQUIRES: s is locked. It is not while the call waits.
func (s *StreamSink) await(ctx context.Context, first int64, taker bool) error {
	_, taken := s.taken[first]
	if _, waits := s.waiting[first]; s.failed == nil && (first < s.next || taken || waits) {
		return fmt.Errorf("record %d is written twice", first)
	}
	for s.failed == nil && first != s.next && !(taker && len(s.taken) < queued) {
		w := waiter{make(chan struct{}), taker}
		s.waiting[first] = w
		s.mu.Unlock()
		select {
		case <-w.woken:
			s.mu.Lock()
		case <-ctx.Done():
			s.mu.Lock()
			s.fail(context.Cause(ctx))
		}
	}
	return s.failed
}

// wake lets a call that waits look again. REQUIRES: s is locked.
func (s *StreamSink) wake(first int64) {
	if w, waits := s.waiting[first]; waits {
		close(w.woken)
		delete(s.waiting, first)
	}
}

// pass goes on after so many bytes were written, or ends all calls with an error.
func (s *StreamSink) pass(bytes int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fail(err)
		return
	}
	s.next += int64(bytes / s.size)
	s.wake(s.next)
	if len(s.taken) <= queued/2 { // sooner, workers and the stream's reader would take turns for each block
		for first, w := range s.waiting {
			if w.taker {
				s.wake(first)
			}
		}
	}
	if _, taken := s.taken[s.next]; taken {
		s.due.Signal()
	}
}

// fail ends all calls with err, unless another error has. REQUIRES: s is locked.
func (s *StreamSink) fail(err error) {
	if s.failed == nil {
		s.failed = err
	}
	for first := range s.waiting {
		s.wake(first)
	}
	if s.due != nil {
		s.due.Signal()
	}
}

// writeTaken writes what is taken until Close. After an error it writes no more.
func (s *StreamSink) writeTaken() {
	defer close(s.ended)
	for {
		first, block, err := s.nextTaken()
		if block.done == nil {
			return
		}
		if err == nil {
			err = s.write(first, block.recs, s.taker.Take)
			s.pass(len(block.recs), err)
		}
		block.done(err)
	}
}

// nextTaken waits for the next block to be written; none comes after Close. With an error it is any block.
func (s *StreamSink) nextTaken() (first int64, block takenBlock, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if block, taken := s.taken[s.next]; taken && s.failed == nil {
			delete(s.taken, s.next)
			if block.ctx.Err() != nil {
				s.fail(context.Cause(block.ctx))
			}
			return s.next, block, s.failed
		}
		if s.failed != nil {
			for first, block := range s.taken {
				delete(s.taken, first)
				return first, block, s.failed
			}
		}
		if s.closed {
			return 0, takenBlock{}, nil
		}
		s.due.Wait()
	}
}

func (s *StreamSink) write(first int64, recs []byte, write func([]byte) (int, error)) error {
	if len(recs) == 0 {
		return nil
	}
	if _, err := write(recs); err != nil {
		return fmt.Errorf("write record %d (byte %d): %w", first, first*int64(s.size), err)
	}
	return nil
}

// Close ends the goroutine that writes, when it has written all that was taken over or failed. It returns the error of the
// first write that failed. REQUIRES: no more blocks come.
func (s *StreamSink) Close() error {
	s.mu.Lock()
	s.closed = true
	running := s.due != nil
	if running {
		s.due.Signal()
	}
	s.mu.Unlock()
	if running {
		<-s.ended
	}
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
