package columns

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// floatFacts records the columns with NaNs or negative zeros. The dictionaries of arrow-go have a
// single NaN, so these columns are written without one.
type floatFacts struct {
	columns []atomic.Bool
}

func newFloatFacts(l *layout) *floatFacts {
	most := -1
	for _, c := range l.columns {
		most = max(most, c.index)
	}
	return &floatFacts{columns: make([]atomic.Bool, most+1)}
}

func (f *floatFacts) found(c *column) { f.columns[c.index].Store(true) }

// A source decodes the rows of all files into records, in order. Several workers decode a row group
// each. The blocks of later row groups wait in memory:
//
//	worker 1: row group 0  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓ ─▶ Read
//	worker 2: row group 1  ▓▓▓▓▓▓▓ waits if all blocks are used
//
// The worker with the lowest row group never waits for a block of another worker, because each row
// group in progress owns at least one block.
type source struct {
	files      []input
	layout     *layout
	floats     *floatFacts
	blockRows  int
	blockBytes int

	cancel  context.CancelFunc
	stopped func() error     // the error of the context
	groups  chan *groupQueue // in order
	spare   chan struct{}    // one element for each additional block
	free    sync.Pool
	done    sync.WaitGroup

	current *groupQueue
	rest    []byte // of the block that Read copies
	block   []byte
	failed  error // the first error, for the caller of the sort
}

// A groupQueue passes the blocks of a row group from its worker to Read.
type groupQueue struct {
	file   input
	index  int
	open   openRows
	blocks chan sharedBlock
	own    chan struct{} // empty while the row group's own block is in use
}

// A sharedBlock contains the records of some rows.
type sharedBlock struct {
	records []byte
	isOwn   bool // its row group owns it
	err     error
}

// sourceSizes are the numbers that bound the memory of a source.
type sourceSizes struct {
	workers    int
	blockRows  int
	blockBytes int
	blocks     int // in addition to one for each worker
}

// newSource starts to decode the files.
func newSource(ctx context.Context, files []input, l *layout, sizes sourceSizes) *source {
	ctx, cancel := context.WithCancel(ctx)
	s := &source{
		files:      files,
		layout:     l,
		floats:     newFloatFacts(l),
		blockRows:  sizes.blockRows,
		blockBytes: sizes.blockBytes,
		cancel:     cancel,
		stopped:    ctx.Err,
		groups:     make(chan *groupQueue, sizes.workers),
		spare:      make(chan struct{}, sizes.blocks),
	}
	s.free.New = func() any {
		block := make([]byte, sizes.blockBytes)
		return &block
	}
	for range sizes.blocks {
		s.spare <- struct{}{}
	}
	// A row group holds a slot from its start until Read has consumed it, so that at most workers
	// row groups are in memory.
	s.done.Go(func() { s.start(ctx, sizes.workers) })
	return s
}

// start starts a worker for each row group, at most workers at a time.
func (s *source) start(ctx context.Context, workers int) {
	defer close(s.groups)
	slots := make(chan struct{}, workers)
	for _, in := range s.files {
		for i := 0; ; i++ {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			open, err := in.next()
			if err == io.EOF {
				<-slots
				break
			}
			if err != nil {
				open = func(*layout, int, *floatFacts) (*rowDecoder, error) { return nil, err }
			}
			q := &groupQueue{
				file:   in,
				index:  i,
				open:   open,
				blocks: make(chan sharedBlock, cap(s.spare)+1),
				own:    make(chan struct{}, 1),
			}
			q.own <- struct{}{}
			s.done.Go(func() {
				defer close(q.blocks)
				defer func() { <-slots }()
				s.decodeGroup(ctx, q)
			})
			select {
			case s.groups <- q:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}
}

// decodeGroup decodes one row group. A panic of a decoder means that the file is damaged.
func (s *source) decodeGroup(ctx context.Context, q *groupQueue) {
	defer func() {
		if reason := recover(); reason != nil {
			q.fail(ctx, fmt.Errorf("row group %d is damaged: %v", q.index, reason))
		}
	}()
	d, err := q.open(s.layout, s.blockRows, s.floats)
	if err != nil {
		q.fail(ctx, fmt.Errorf("row group %d: %w", q.index, err))
		return
	}
	defer d.close()
	for d.left > 0 {
		block, ok := s.nextBlock(ctx, q)
		if !ok {
			return
		}
		if block.records, err = d.fill(block.records); err != nil {
			q.fail(ctx, fmt.Errorf("row group %d: %w", q.index, err))
			return
		}
		q.blocks <- block // it has room for all blocks
	}
}

// nextBlock returns a free block: a spare one or the row group's own.
func (s *source) nextBlock(ctx context.Context, q *groupQueue) (b sharedBlock, ok bool) {
	select {
	case <-s.spare:
	case <-q.own:
		b.isOwn = true
	case <-ctx.Done():
		return b, false
	}
	block := *s.free.Get().(*[]byte)
	b.records = block[:cap(block)]
	return b, true
}

// fail passes an error to Read.
func (q *groupQueue) fail(ctx context.Context, err error) {
	select {
	case q.blocks <- sharedBlock{err: fmt.Errorf("%s: %w", q.file.label(), notEnd(err))}:
	case <-ctx.Done():
	}
}

// Read returns the next records. It implements io.Reader.
func (s *source) Read(p []byte) (n int, err error) {
	for len(s.rest) == 0 {
		if err := s.next(); err != nil {
			if err != io.EOF {
				s.failed = err
			}
			return 0, err
		}
	}
	n = copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// next receives the next block.
func (s *source) next() error {
	if s.failed != nil {
		return s.failed
	}
	for {
		if s.current == nil {
			q, ok := <-s.groups
			if !ok {
				s.dropPages()
				return cmp.Or(s.stopped(), io.EOF)
			}
			s.current = q
		}
		block, ok := <-s.current.blocks
		if err := s.stopped(); err != nil {
			return err
		}
		if !ok {
			s.current = nil
			continue
		}
		if block.err != nil {
			return block.err
		}
		s.recycle()
		s.block = block.records
		s.rest = block.records
		// The block can be counted as free: a worker allocates another one at most.
		if block.isOwn {
			s.current.own <- struct{}{}
		} else {
			s.spare <- struct{}{}
		}
		return nil
	}
}

// dropPages releases the memory of pages, because all row groups have been decoded.
func (s *source) dropPages() {
	for _, in := range s.files {
		if file, ok := in.(*parquetFile); ok {
			file.memory.drop()
		}
	}
}

// recycle makes the last block available again.
func (s *source) recycle() {
	if s.block == nil {
		return
	}
	if cap(s.block) == s.blockBytes { // large rows have blocks of their own
		block := s.block[:cap(s.block)]
		s.free.Put(&block)
	}
	s.block = nil
}

// close ends all workers. No Read may follow.
func (s *source) close() {
	s.cancel()
	s.done.Wait()
}
