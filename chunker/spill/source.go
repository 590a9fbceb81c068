package spill

import (
	"context"
	"slices"
	"sort"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// runSource reads the blocks [from, to) of a run in order, whole ones by several callers at a time.
type runSource struct {
	run      *Run
	from, to int
	base     int64   // index in the run of the first record
	ahead    *Window // nil: none is read ahead

	mu     sync.Mutex
	at     int64  // the next record of the run
	reader Reader // of blocks that are larger than what a caller asks for
}

// Source reads the blocks [i, j) of the run in order. It is device.Sampled.
func (r *Run) Source(i, j int) device.Source {
	base := endOf(r.blocks[:i])
	s := &runSource{run: r, from: i, to: j, base: base, at: base}
	if r.from != nil {
		ahead := *r
		s.run, s.ahead = &ahead, r.from.ahead(r.blocks, i, j)
		ahead.read = func(b *Block, dst []byte) ([]byte, error) {
			i := int64(r.blockOf(b.First))
			return r.from.decode(b, dst, func(stored []byte) error { return s.ahead.Read(stored, i, i+1) })
		}
	}
	s.reader.Run = s.run
	return s
}

// ReadAhead has requests read what there is memory for. See input.ReadAhead.
func (s *runSource) ReadAhead(context.Context, int64) {
	if s.ahead != nil {
		s.ahead.Ahead()
	}
}

func (s *runSource) Records() int64 { return endOf(s.run.blocks[:s.to]) - s.base }

// Sample is the prefixes of the first records of all blocks: a part has them in the order of the input.
func (s *runSource) Sample() []uint64 {
	prefixes := make([]uint64, s.to-s.from)
	for i, b := range s.run.blocks[s.from:s.to] {
		prefixes[i] = format.PrefixOf(b.Key)
	}
	return prefixes
}

// Next reads the next blocks, as many as max has room for, or a piece of one that is larger.
func (s *runSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	s.mu.Lock()
	at, blocks := s.at, s.run.blocks
	first := at - s.base
	if first == s.Records() {
		s.mu.Unlock()
		return first, 0, nil
	}
	i := s.run.blockOf(at)
	n := min(max, int(endOf(blocks[:i+1])-at))
	if at > blocks[i].First || n < blocks[i].Records {
		defer s.mu.Unlock()
		s.at += int64(n)
		return first, n, s.reader.ReadRecords(s.run.room(place, first, n), at)
	}
	j := i + 1
	for ; j < s.to && n+blocks[j].Records <= max; j++ {
		n += blocks[j].Records
	}
	s.at += int64(n)
	s.mu.Unlock()
	return first, n, s.run.readBlocks(i, j, s.run.room(place, first, n))
}

func (r *Run) room(place func(first int64, n int) []byte, first int64, n int) []byte {
	return place(first, n)[:n*r.keyer.Layout().RecordSize]
}

// readBlocks fills p with the blocks [i, j), several at a time where they come from a disk.
func (r *Run) readBlocks(i, j int, p []byte) error {
	var group errgroup.Group
	group.SetLimit(max(r.atOnce, 1))
	for i := i; i < j; i++ {
		dst := p[:r.BlockBytes(i)]
		p = p[len(dst):]
		load := func() error {
			recs, err := r.ReadBlock(i, dst)
			if len(recs) > 0 && &recs[0] != &dst[0] {
				copy(dst, recs)
			}
			return err
		}
		if r.atOnce > 1 {
			group.Go(load)
		} else if err := load(); err != nil {
			return err
		}
	}
	return group.Wait()
}

// blockOf is the block that has a record.
func (r *Run) blockOf(record int64) int {
	return sort.Search(len(r.blocks), func(i int) bool { return endOf(r.blocks[:i+1]) > record })
}

// Reader reads records of a run from any place. It keeps the block that it read last, and one buffer for all.
type Reader struct {
	Run *Run

	recs   []byte // of block
	block  int
	buffer []byte
}

// ReadRecords fills p with the records from index first on.
func (r *Reader) ReadRecords(p []byte, first int64) error {
	blocks, size := r.Run.blocks, r.Run.keyer.Layout().RecordSize
	for i := r.Run.blockOf(first); len(p) > 0; i++ {
		if err := r.open(i); err != nil {
			return err
		}
		n := copy(p, r.recs[int(first-blocks[i].First)*size:])
		p, first = p[n:], first+int64(n/size)
	}
	return nil
}

// open reads block i unless it is the one that is there.
func (r *Reader) open(i int) (err error) {
	if r.recs != nil && r.block == i {
		return nil
	}
	r.buffer = slices.Grow(r.buffer[:0], r.Run.BlockBytes(i))
	r.recs, err = r.Run.ReadBlock(i, r.buffer[:r.Run.BlockBytes(i)])
	r.block = i
	return err
}
