package merge

import (
	"context"
	"fmt"
	"io"

	"github.com/extsort/extsort/chunker/pipe"
)

// StreamSink is a BlockWriter that writes the blocks in order to a stream: a pipe, or a compressor on top of a
// file. Calls wait for their turn. After the first error, which may be syscall.EPIPE, all calls return it. It is a
// device.Taker that takes what the stream takes.
type StreamSink struct {
	w     io.Writer
	taker pipe.Taker // w, or nil
	size  int        // record size
	turns turns
}

// NewStreamSink makes a sink of records of recordSize bytes. What stands before the first record, the caller
// has written to w.
func NewStreamSink(w io.Writer, recordSize int) *StreamSink {
	taker, _ := w.(pipe.Taker)
	return &StreamSink{w: w, taker: taker, size: recordSize}
}

// WriteBlock writes recs when all records before them have been written.
func (s *StreamSink) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	return s.inTurn(ctx, first, recs, s.w.Write)
}

// Takes implements device.Taker.
func (s *StreamSink) Takes() bool { return s.taker != nil && s.taker.Takes() }

// TakeBlock gives recs to the stream when all records before them have been written.
func (s *StreamSink) TakeBlock(ctx context.Context, first int64, recs []byte) error {
	if s.taker == nil {
		return s.WriteBlock(ctx, first, recs)
	}
	return s.inTurn(ctx, first, recs, s.taker.Take)
}

func (s *StreamSink) inTurn(ctx context.Context, first int64, recs []byte, write func([]byte) (int, error)) error {
	if err := s.turns.wait(ctx, first); err != nil {
		return err
	}
	_, err := write(recs)
	if err != nil {
		err = fmt.Errorf("write record %d (byte %d): %w", first, first*int64(s.size), err)
	}
	s.turns.pass(first+int64(len(recs)/s.size), err)
	return err
}

// Records is the number of records written so far.
func (s *StreamSink) Records() int64 {
	s.turns.mu.Lock()
	defer s.turns.mu.Unlock()
	return s.turns.next
}
