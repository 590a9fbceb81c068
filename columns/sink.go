package columns

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/parquet/file"
)

// A sink encodes sorted records. It implements io.Writer. Write collects the records in blocks;
// workers encode the columns of each block. A column is encoded by one worker at a time, in the
// order of the blocks, and different columns may be at different blocks:
//
//	blocks    0  1  2  3
//	column a  ✓  ✓  ▓         a worker
//	column b  ✓  ▓            a worker
//	column c  ▓               a worker
//
// A block is reused when all its columns are encoded.
type sink struct {
	layout    *layout
	writer    *file.Writer
	blockRows int
	groupRows int // maximum rows of a row group

	group    file.BufferedRowGroupWriter // nil: none has been started
	rows     int                         // of the row group
	filling  []byte
	encoders []encoder

	mu      sync.Mutex
	changed sync.Cond
	queue   []*encodedBlock // blocks that not all columns have encoded
	next    []int           // for each column, the number of the block that it encodes next
	first   int             // number of queue[0]
	busy    []bool          // a worker encodes the column
	spare   [][]byte
	ended   bool
	err     error
	workers sync.WaitGroup
}

// An encodedBlock is a block with the number of columns that have not encoded it yet.
type encodedBlock struct {
	records []byte
	left    int
}

// sinkSizes are the numbers that bound the memory of a sink.
type sinkSizes struct {
	workers   int
	blockRows int
	blocks    int
	groupRows int
}

// newSink returns a sink that writes row groups to w.
func newSink(l *layout, w *file.Writer, sizes sinkSizes) *sink {
	s := &sink{
		layout:    l,
		writer:    w,
		blockRows: sizes.blockRows,
		groupRows: sizes.groupRows,
		next:      make([]int, len(l.columns)),
		busy:      make([]bool, len(l.columns)),
	}
	s.changed.L = &s.mu
	for range sizes.blocks {
		s.spare = append(s.spare, make([]byte, 0, sizes.blockRows*l.recordSize))
	}
	for range min(sizes.workers, len(l.columns)) {
		s.workers.Go(s.work)
	}
	return s
}

// Write encodes records. It may receive parts of records.
func (s *sink) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if s.filling == nil {
			if err := s.startBlock(); err != nil {
				return n, err
			}
		}
		free := s.blockSize() - len(s.filling)
		part := p[:min(free, len(p))]
		s.filling = append(s.filling, part...)
		p = p[len(part):]
		n += len(part)
		if len(part) == free {
			if err := s.sendBlock(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// blockSize returns the bytes of the current block: row groups end at the end of a block.
func (s *sink) blockSize() int {
	return min(s.blockRows, s.groupRows-s.rows) * s.layout.recordSize
}

// startBlock waits for a block that is not in use. It starts a row group if necessary.
func (s *sink) startBlock() error {
	if s.group != nil && s.rows == s.groupRows {
		if err := s.endGroup(); err != nil {
			return err
		}
	}
	if s.group == nil {
		if err := s.startGroup(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.spare) == 0 && s.err == nil {
		s.changed.Wait()
	}
	if s.err != nil {
		return s.err
	}
	last := len(s.spare) - 1
	s.filling = s.spare[last][:0]
	s.spare = s.spare[:last]
	return nil
}

// sendBlock passes the current block to the workers.
func (s *sink) sendBlock() error {
	if len(s.filling)%s.layout.recordSize != 0 {
		return fmt.Errorf("the last of the sorted records is incomplete")
	}
	s.rows += len(s.filling) / s.layout.recordSize
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, &encodedBlock{records: s.filling, left: len(s.layout.columns)})
	s.filling = nil
	s.changed.Broadcast()
	return s.err
}

// startGroup starts a row group with an encoder for each column.
func (s *sink) startGroup() (err error) {
	if s.group, err = s.writer.AppendBufferedRowGroupChecked(); err != nil {
		return err
	}
	s.rows = 0
	s.encoders = nil
	for _, c := range s.layout.columns {
		writer, err := s.group.Column(c.index)
		if err != nil {
			return err
		}
		e, err := newEncoder(c, s.layout.recordSize, writer)
		if err != nil {
			return err
		}
		s.encoders = append(s.encoders, e)
	}
	return nil
}

// endGroup waits for the workers and writes the row group.
func (s *sink) endGroup() error {
	s.mu.Lock()
	for len(s.queue) > 0 && s.err == nil {
		s.changed.Wait()
	}
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	group := s.group
	s.group = nil
	return group.Close()
}

// finish encodes the remaining records and ends the workers. It must be called exactly once, also
// after an error, whose failed Write it then reports.
func (s *sink) finish(complete bool) (err error) {
	if complete && len(s.filling) > 0 {
		err = s.sendBlock()
	}
	if complete && err == nil && s.group != nil {
		err = s.endGroup()
	}
	s.mu.Lock()
	s.ended = true
	s.changed.Broadcast()
	s.mu.Unlock()
	s.workers.Wait()
	return err
}

// work encodes columns of blocks until the sink ends.
func (s *sink) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		c := s.nextColumn()
		switch {
		case s.ended || s.err != nil:
			return
		case c < 0:
			s.changed.Wait()
			continue
		}
		block := s.queue[s.next[c]-s.first]
		s.busy[c] = true
		e := s.encoders[c]
		s.mu.Unlock()
		err := encodeSafely(e, block.records)
		s.mu.Lock()
		s.busy[c] = false
		s.next[c]++
		s.err = errors.Join(s.err, err)
		s.release(block)
	}
}

// encodeSafely returns a panic of the encoder as an error.
func encodeSafely(e encoder, records []byte) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("encode: %v", reason)
		}
	}()
	return e.encode(records)
}

// nextColumn returns the column that is behind the most and can go on, or -1.
func (s *sink) nextColumn() int {
	best := -1
	for c, next := range s.next {
		if !s.busy[c] && next < s.first+len(s.queue) && (best < 0 || next < s.next[best]) {
			best = c
		}
	}
	return best
}

// release makes a block available again once all columns are encoded. Since each column encodes the
// blocks in order, the first block is complete first.
func (s *sink) release(block *encodedBlock) {
	block.left--
	if block.left == 0 {
		s.spare = append(s.spare, block.records)
		s.queue = s.queue[1:]
		s.first++
	}
	s.changed.Broadcast()
}

var _ io.Writer = (*sink)(nil)
