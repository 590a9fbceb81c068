package merge

import (
	"context"
	"fmt"
	"io"

	"github.com/extsort/extsort/chunker/pipe"
)

// StreamSink is a BlockWriter that writes the blocks in order to a stream: a pipe, or a compressor on top of a
// file. Calls wait for their turn. After the first error, which may be syscall.EPIPE, all calls return it. It is a
// device.Taker that takes what the stream takes, and has it written by a goroutine of its own: whoever sorts need not wait
// for the reader of a pipe, which has a processor less as long as they do.
type StreamSink struct {
	w     io.Writer
	taker pipe.Taker // w, or nil
	size  int        // record size
	turns turns

	queue chan takenBlock // to be written, in order; nil before the first. It belongs to whose turn it is
	ended chan struct{}   // no more is written from the queue
}

// takenBlock is a block on its way to the stream.
type takenBlock struct {
	ctx   context.Context // that its writer gave
	first int64
	recs  []byte
	done  func(error)
}

// queued is how many blocks a StreamSink takes over before they are written. The CPU gives 128 KiB at a time, see package
// cpu, which had been stored before: so they take no more memory. Of 1 GiB to cat on two cores of a Xeon it took 1.28 s to
// wait for each, 1.23 with a queue of 8 MiB, and 1.12 with 32 MiB.
const queued = 256

// NewStreamSink makes a sink of records of recordSize bytes. What stands before the first record, the caller
// has written to w.
func NewStreamSink(w io.Writer, recordSize int) *StreamSink {
	taker, _ := w.(pipe.Taker)
	return &StreamSink{w: w, taker: taker, size: recordSize}
}

// WriteBlock writes recs when all records before them have been written.
func (s *StreamSink) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	if err := s.turns.wait(ctx, first); err != nil {
		return err
	}
	err := s.settle(ctx)
	if err == nil {
		err = s.write(first, recs, s.w.Write)
	}
	s.turns.pass(first+int64(len(recs)/s.size), err)
	return err
}

// Takes implements device.Taker.
func (s *StreamSink) Takes() bool { return s.taker != nil && s.taker.Takes() }

// TakeBlock gives recs to the stream when all records before them have been given to it.
func (s *StreamSink) TakeBlock(ctx context.Context, first int64, recs []byte, done func(error)) error {
	if s.taker == nil {
		err := s.WriteBlock(ctx, first, recs)
		if err == nil {
			done(nil)
		}
		return err
	}
	if err := s.turns.wait(ctx, first); err != nil {
		return err
	}
	if s.queue == nil {
		s.queue, s.ended = make(chan takenBlock, queued), make(chan struct{})
		go s.writeQueue(s.queue)
	}
	err := s.enqueue(ctx, takenBlock{ctx, first, recs, done})
	s.turns.pass(first+int64(len(recs)/s.size), err)
	return err
}

// enqueue has a block written later. REQUIRES: it is its turn.
func (s *StreamSink) enqueue(ctx context.Context, b takenBlock) error {
	select {
	case s.queue <- b:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settle waits until all blocks that were taken over have been written. REQUIRES: it is the caller's turn, or no more come.
func (s *StreamSink) settle(ctx context.Context) error {
	if s.queue == nil {
		return nil
	}
	written := make(chan error, 1)
	if err := s.enqueue(ctx, takenBlock{ctx: ctx, done: func(err error) { written <- err }}); err != nil {
		return err
	}
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// writeQueue writes what is taken over until Close. After an error it writes no more.
func (s *StreamSink) writeQueue(queue <-chan takenBlock) {
	defer close(s.ended)
	var failed error
	for b := range queue {
		if failed == nil && b.ctx.Err() != nil {
			failed = context.Cause(b.ctx)
		} else if failed == nil {
			failed = s.write(b.first, b.recs, s.taker.Take)
		}
		if failed != nil {
			s.turns.fail(failed)
		}
		b.done(failed)
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
	if s.queue != nil {
		close(s.queue)
		<-s.ended
		s.queue = nil
	}
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	return s.turns.failed
}

// Records is the number of records written so far.
func (s *StreamSink) Records() int64 {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	return s.turns.next
}
