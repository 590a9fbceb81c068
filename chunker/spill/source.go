package spill

import (
	"slices"
	"sort"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// runSource reads a run block by block.
type runSource struct {
	run *Run

	mu     sync.Mutex
	next   int    // block that is read next
	opened []byte // where blocks lie that are larger than a caller's max
	rest   []byte // what is left of one of them
	at     int64  // index of the first record of rest
}

// Source reads the blocks [i, j) of the run in order. It is device.Sampled.
func (r *Run) Source(i, j int) device.Source { return &runSource{run: r.slice(i, j)} }

func (s *runSource) Records() int64 { return s.run.Records() }

// Sample is the prefixes of the first records of all blocks: a part has them in the order of the input.
func (s *runSource) Sample() []uint64 {
	prefixes := make([]uint64, len(s.run.blocks))
	for i, b := range s.run.blocks {
		prefixes[i] = format.PrefixOf(b.Key)
	}
	return prefixes
}

// Next reads the next blocks, as many as max has room for.
func (s *runSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	blocks, first, n, err := s.claim(max, place)
	if len(blocks) == 0 {
		return first, n, err
	}
	first, n = blocks[0].First, int(endOf(blocks)-blocks[0].First)
	size := s.run.keyer.Layout().RecordSize
	p := place(first, n)[:n*size]
	for i := range blocks {
		b := &blocks[i]
		dst := p[int(b.First-first)*size:][:b.Records*size]
		recs, err := s.run.read(b, dst)
		if err != nil {
			return first, 0, err
		}
		if len(recs) > 0 && &recs[0] != &dst[0] {
			copy(dst, recs)
		}
	}
	return first, n, nil
}

// claim takes the next blocks for the caller to read, or, when the first is larger than max, delivers a piece of it
// itself.
func (s *runSource) claim(max int, place func(first int64, n int) []byte) (blocks []Block, first int64, n int,
	err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) == 0 && s.next == len(s.run.blocks) {
		return nil, s.run.Records(), 0, nil
	}
	if len(s.rest) == 0 {
		from := s.next
		for room := max; s.next < len(s.run.blocks) && s.run.blocks[s.next].Records <= room; s.next++ {
			room -= s.run.blocks[s.next].Records
		}
		if s.next > from {
			return s.run.blocks[from:s.next], 0, 0, nil
		}
		s.next++
		if err := s.openBlock(from); err != nil {
			return nil, 0, 0, err
		}
	}
	first, n = s.piece(max, place)
	return nil, first, n, nil
}

func (s *runSource) openBlock(i int) error {
	s.opened = slices.Grow(s.opened[:0], s.run.BlockBytes(i))
	recs, err := s.run.ReadBlock(i, s.opened[:s.run.BlockBytes(i)])
	s.rest, s.at = recs, s.run.blocks[i].First
	return err
}

func (s *runSource) piece(max int, place func(first int64, n int) []byte) (first int64, n int) {
	size := s.run.keyer.Layout().RecordSize
	n = min(max, len(s.rest)/size)
	first = s.at
	copy(place(first, n), s.rest[:n*size])
	s.rest, s.at = s.rest[n*size:], s.at+int64(n)
	return first, n
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
	i := sort.Search(len(blocks), func(i int) bool { return endOf(blocks[:i+1]) > first })
	for ; len(p) > 0; i++ {
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
