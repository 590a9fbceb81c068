package output

import (
	"context"
	"fmt"
	"io"
)

// StreamSink is a BlockWriter that writes blocks in order to a stream: a pipe, or a compressor on top of a file. Calls
// wait for their turn. After the first error, which may be syscall.EPIPE, all calls return it.
type StreamSink struct {
	w     io.Writer
	size  int // record size
	turns turns
}

// NewStreamSink makes a sink of records of recordSize bytes. What stands before the first record, the caller has
// written to w.
func NewStreamSink(w io.Writer, recordSize int) *StreamSink {
	return &StreamSink{w: w, size: recordSize}
}

// WriteBlock writes recs when all records before them have been written.
func (s *StreamSink) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	if err := s.turns.wait(ctx, first); err != nil {
		return err
	}
	err := context.Cause(ctx)
	if err == nil && len(recs) > 0 {
		if _, err = s.w.Write(recs); err != nil {
			err = fmt.Errorf("write record %d (byte %d): %w", first, first*int64(s.size), err)
		}
	}
	s.turns.pass(first+int64(len(recs)/s.size), err)
	return err
}

// Finish is the first error of a call, or that fewer or more records were written than there are.
func (s *StreamSink) Finish(records int64) error { return s.turns.finish(records) }
