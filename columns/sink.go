package columns

import (
	"errors"
	"fmt"
	"io"
	"sync"
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
	layout *layout
	groups groupWriter
	sizes  sinkSizes

	inGroup  bool
	rows     int // of the row group
	bytes    int // of the row group
	filling  *encodedBlock
	encoders []encoder

	mu      sync.Mutex
	changed sync.Cond
	queue   []*encodedBlock // blocks that not all columns have encoded
	next    []int           // for each column, the number of the block that it encodes next
	first   int             // number of queue[0]
	busy    []bool          // a worker encodes the column
	spare   []*encodedBlock
	ended   bool
	err     error
	workers sync.WaitGroup
}

// A groupWriter writes row groups.
type groupWriter interface {
	// start starts a row group. It returns an encoder for each column.
	start() ([]encoder, error)
	// end writes the row group.
	end() error
	// close completes the file.
	close() error
}

// An encodedBlock is a block with the number of columns that have not encoded it yet.
type encodedBlock struct {
	rows
	left int
}

// sinkSizes are the numbers that bound the memory of a sink.
type sinkSizes struct {
	workers    int
	blockRows  int
	blockBytes int // with columns of variable width
	blocks     int
	groupRows  int // the most rows of a row group
	groupBytes int // with columns of variable width
}

// newSink returns a sink that writes row groups.
func newSink(l *layout, groups groupWriter, sizes sinkSizes) *sink {
	s := &sink{
		layout: l,
		groups: groups,
		sizes:  sizes,
		next:   make([]int, len(l.columns)),
		busy:   make([]bool, len(l.columns)),
	}
	s.changed.L = &s.mu
	for range sizes.blocks {
		s.spare = append(s.spare, &encodedBlock{rows: rows{size: l.recordSize}})
	}
	for range min(sizes.workers, len(l.columns)) {
		s.workers.Go(s.work)
	}
	return s
}

// Write encodes records of a layout without columns of variable width. It may receive parts of
// records.
func (s *sink) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if s.filling == nil {
			if err := s.startBlock(); err != nil {
				return n, err
			}
		}
		size := min(s.sizes.blockRows, s.sizes.groupRows-s.rows) * s.layout.recordSize
		free := size - len(s.filling.data)
		part := p[:min(free, len(p))]
		s.filling.data = append(s.filling.data, part...)
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

// addRow encodes a row of a layout with columns of variable width.
func (s *sink) addRow(row []byte) error {
	b := s.filling
	if b != nil && (len(b.data)+len(row) > s.sizes.blockBytes || len(b.starts) == s.sizes.blockRows ||
		s.rows+len(b.starts) == s.sizes.groupRows) {
		if err := s.sendBlock(); err != nil {
			return err
		}
	}
	if s.filling == nil {
		if err := s.startBlock(); err != nil {
			return err
		}
		b = s.filling
	}
	b.starts = append(b.starts, len(b.data))
	b.data = append(b.data, row...)
	return nil
}

// startBlock waits for a block that is not in use. It starts a row group if necessary.
func (s *sink) startBlock() error {
	if s.inGroup && (s.rows == s.sizes.groupRows || s.bytes >= s.sizes.groupBytes) {
		if err := s.endGroup(); err != nil {
			return err
		}
	}
	if !s.inGroup {
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
	s.filling = s.spare[last]
	s.spare = s.spare[:last]
	s.filling.data = s.filling.data[:0]
	s.filling.starts = s.filling.starts[:0]
	return nil
}

// sendBlock passes the current block to the workers.
func (s *sink) sendBlock() error {
	b := s.filling
	b.count = len(b.starts)
	if len(s.layout.variable) == 0 {
		if len(b.data)%s.layout.recordSize != 0 {
			return errors.New("the last of the sorted records is incomplete")
		}
		b.count = len(b.data) / s.layout.recordSize
	}
	b.left = len(s.layout.columns)
	s.rows += b.count
	s.bytes += len(b.data) + b.count*s.layout.savedBytes
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, b)
	s.filling = nil
	s.changed.Broadcast()
	return s.err
}

// startGroup starts a row group.
func (s *sink) startGroup() (err error) {
	s.encoders, err = s.groups.start()
	s.inGroup = err == nil
	s.rows = 0
	s.bytes = 0
	return err
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
	s.inGroup = false
	return s.groups.end()
}

// finish encodes the remaining records and ends the workers. It must be called exactly once, also
// after an error, whose failed Write it then reports.
func (s *sink) finish(complete bool) (err error) {
	if complete && s.filling != nil {
		err = s.sendBlock()
	}
	if complete && err == nil && s.inGroup {
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
		err := encodeSafely(e, block.rows)
		s.mu.Lock()
		s.busy[c] = false
		s.next[c]++
		s.err = errors.Join(s.err, err)
		s.release(block)
	}
}

// encodeSafely returns a panic of the encoder as an error.
func encodeSafely(e encoder, r rows) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("encode: %v", reason)
		}
	}()
	return e.encode(r)
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
		s.spare = append(s.spare, block)
		s.queue = s.queue[1:]
		s.first++
	}
	s.changed.Broadcast()
}

var _ io.Writer = (*sink)(nil)
