package chunker

import (
	"slices"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Part is the Dataset of a part that Scatter made: the records of one key range, in the order of the input.
type Part struct {
	Run *Run

	equal bool // all records have the same key
	cut   int  // blocks that Cut has given out
}

// AllEqual reports whether the records of the part all have the same key, so that they are in order as they are.
func (p *Part) AllEqual() bool { return p.equal }

// Records is the number of records of the part.
func (p *Part) Records() int64 { return p.Run.Records() }

// Cut returns the next whole blocks that have maxRecords at most, but at least one block.
func (p *Part) Cut(maxRecords int64) (device.Source, error) {
	i, j := p.cut, p.cut
	for records := int64(0); j < len(p.Run.blocks); j++ {
		records += int64(p.Run.blocks[j].Records)
		if records > maxRecords && j > i {
			break
		}
	}
	if i == j {
		return nil, nil
	}
	p.cut = j
	return newRunSource(p.Run.slice(i, j)), nil
}

// Split cuts the part at the borders of blocks.
func (p *Part) Split(n int) []device.Source {
	blocks := int64(len(p.Run.blocks))
	if blocks == 0 {
		return nil
	}
	return evenly(blocks, n, func(first, n int64) device.Source {
		return newRunSource(p.Run.slice(int(first), int(first+n)))
	})
}

// Sample reads records at evenly spread places.
func (p *Part) Sample(k *format.Keyer, n int) (Sample, error) {
	return sampleRecords(k, p.Records(), n, (&runReader{run: p.Run}).read)
}

// Check has nothing to report: every block read has been checked.
func (p *Part) Check() error { return nil }

// Close gives the space of the part back.
func (p *Part) Close() error { return p.Run.Close() }

// runSource reads a run block by block.
type runSource struct {
	run *Run

	mu     sync.Mutex
	next   int    // block that is read next
	opened []byte // where blocks lie that are larger than a caller's max
	rest   []byte // what is left of one of them
	at     int64  // index of the first record of rest
}

func newRunSource(r *Run) *runSource { return &runSource{run: r} }

func (s *runSource) Records() int64 { return s.run.Records() }

// Sample is the prefixes of the first records of all blocks: a part has them in the order of the input.
func (s *runSource) Sample() []uint64 {
	prefixes := make([]uint64, len(s.run.blocks))
	for i, b := range s.run.blocks {
		prefixes[i] = format.PrefixOf(b.Key)
	}
	return prefixes
}

// Next reads the next blocks, as many as max has room for, so that a caller gets what it asks for however small blocks are.
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
func (s *runSource) claim(max int, place func(first int64, n int) []byte) (blocks []Block, first int64, n int, err error) {
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
