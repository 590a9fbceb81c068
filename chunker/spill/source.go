package spill

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
)

// runSource reads the blocks [from, to) of a run in order, whole ones by several callers at a time.
type runSource struct {
	run      *Run
	from, to int
	base     int64   // index in the run of the first record
	records  int64   // that it has
	ahead    *Window // nil: none is read ahead

	mu     sync.Mutex
	err    error // of the index; sticks
	cursor *Cursor
	block  Block  // that has the next record
	number int    // of that block
	at     int64  // the next record of the run
	reader Reader // of blocks that are larger than what a caller asks for
}

// Source reads the blocks [i, j) of the run in order. It is device.Sampled.
func (r *Run) Source(i, j int) device.Source {
	s := &runSource{run: r, from: i, to: j, number: i, cursor: r.Cursor(i, j)}
	var end int64
	if s.base, s.err = r.startOf(i); s.err == nil {
		end, s.err = r.startOf(j)
	}
	s.at, s.records = s.base, end-s.base
	if s.err == nil && i < j {
		s.err = s.advance()
	}
	if r.from != nil {
		s.ahead = r.from.ahead(r, i, j)
	}
	s.reader.Run = r
	if s.ahead != nil {
		s.reader.readBlock = s.readBlock
	}
	return s
}

// advance makes the next entry that of the block with the next record.
func (s *runSource) advance() error {
	b, err := s.cursor.Next()
	if b != nil {
		s.block = *b
		s.block.Key = nil // which is valid until the next one, and not needed
	}
	return err
}

// readBlock reads block i, by the requests that read ahead if there are any.
func (s *runSource) readBlock(i int, b *Block, dst []byte) ([]byte, error) {
	if s.ahead == nil {
		return s.run.ReadBlock(b, dst)
	}
	load := func(stored []byte) error { return s.ahead.Read(stored, int64(i), int64(i)+1) }
	recs, err := s.run.from.decode(b, dst, load)
	if err == nil && len(recs) != s.run.BlockBytes(b) {
		return nil, fmt.Errorf("spilled run: the block of record %d has %d bytes, but %d were written",
			b.First, len(recs), s.run.BlockBytes(b))
	}
	return recs, err
}

// ReadAhead has requests read what there is memory for. See input.ReadAhead.
func (s *runSource) ReadAhead(context.Context, int64) {
	if s.ahead != nil {
		s.ahead.Ahead()
	}
}

func (s *runSource) Records() int64 { return s.records }

// sampledBlocks bounds the sample of a source: a run of any length takes no more memory for it.
const sampledBlocks = 1 << 15

// Sample is the prefixes of the first records of blocks, of all unless they are very many: a part has them in the order
// of the input.
func (s *runSource) Sample() []uint64 {
	every := (s.to-s.from)/sampledBlocks + 1
	var prefixes []uint64
	c := s.run.Cursor(s.from, s.to)
	for i := 0; ; i++ {
		b, err := c.Next()
		if b == nil || err != nil { // Next of the source meets the error again
			return prefixes
		}
		if i%every == 0 {
			prefixes = append(prefixes, format.PrefixOf(b.Key))
		}
	}
}

// Next reads the next blocks, as many as max has room for, or a piece of one that is larger.
func (s *runSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	s.mu.Lock()
	first := s.at - s.base
	if s.err != nil || first == s.records {
		defer s.mu.Unlock()
		return first, 0, s.err
	}
	end := s.block.First + int64(s.block.Records)
	n := min(max, int(end-s.at))
	if s.at > s.block.First || n < s.block.Records {
		defer s.mu.Unlock()
		err := s.readPiece(s.run.room(place, first, n))
		return first, n, err
	}
	i := s.number
	blocks, err := s.takeBlocks(max)
	s.err = err
	n = int(s.at - s.base - first)
	s.mu.Unlock()
	if err != nil {
		return first, 0, err
	}
	return first, n, s.readBlocks(i, blocks, s.run.room(place, first, n))
}

// readPiece fills p with the next records of the block that has them. REQUIRES: s.mu is held.
func (s *runSource) readPiece(p []byte) error {
	n := int64(len(p) / s.run.keyer.Layout().RecordSize)
	if err := s.reader.open(s.number, &s.block); err != nil {
		return err
	}
	copy(p, s.reader.recs[int(s.at-s.block.First)*s.run.keyer.Layout().RecordSize:])
	s.at += n
	if s.at < s.block.First+int64(s.block.Records) {
		return nil
	}
	s.number++
	return s.advance()
}

// takeBlocks takes whole blocks, one at least, that have max records together at most. REQUIRES: s.mu is held.
func (s *runSource) takeBlocks(max int) (blocks []Block, err error) {
	for n := 0; err == nil && s.number < s.to && n+s.block.Records <= max; s.number++ {
		blocks = append(blocks, s.block)
		n += s.block.Records
		s.at += int64(s.block.Records)
		err = s.advance()
	}
	return blocks, err
}

func (r *Run) room(place func(first int64, n int) []byte, first int64, n int) []byte {
	return place(first, n)[:n*r.keyer.Layout().RecordSize]
}

// readBlocks fills p with blocks, whose numbers begin with i, several at a time where they come from a disk.
func (s *runSource) readBlocks(i int, blocks []Block, p []byte) error {
	var group safely.Group
	group.SetLimit(max(s.run.atOnce, 1))
	for k := range blocks {
		dst := p[:s.run.BlockBytes(&blocks[k])]
		p = p[len(dst):]
		load := func() error {
			recs, err := s.readBlock(i+k, &blocks[k], dst)
			if len(recs) > 0 && &recs[0] != &dst[0] {
				copy(dst, recs)
			}
			return err
		}
		if s.run.atOnce > 1 {
			group.Go(load)
		} else if err := load(); err != nil {
			return err
		}
	}
	return group.Wait()
}

// blockOf is the number of the block that has a record; that of all blocks: none has.
func (r *Run) blockOf(record int64) (int, error) { return new(finder).blockOf(r, record) }

func (f *finder) blockOf(r *Run, record int64) (int, error) {
	if len(r.pieces) == 0 || record >= r.base()+r.records {
		return r.blocks, nil
	}
	var failed error
	behind := sort.Search(r.blocks, func(i int) bool {
		b, err := f.entry(r, i)
		if err != nil {
			failed = err
			return true
		}
		return b.First > record
	})
	return max(behind-1, 0), failed
}

// Reader reads records of a run from any place. It keeps the block that it read last, and one buffer for all.
type Reader struct {
	Run *Run

	readBlock func(i int, b *Block, dst []byte) ([]byte, error) // nil: that of Run

	recs   []byte // of block
	block  int
	buffer []byte
	index  finder
}

// ReadRecords fills p with the records from index first on.
func (r *Reader) ReadRecords(p []byte, first int64) error {
	size := r.Run.keyer.Layout().RecordSize
	i, err := r.index.blockOf(r.Run, first)
	if err != nil {
		return err
	}
	for ; len(p) > 0; i++ {
		b, err := r.index.entry(r.Run, i)
		if err != nil {
			return err
		}
		if err := r.open(i, b); err != nil {
			return err
		}
		n := copy(p, r.recs[int(first-b.First)*size:])
		p, first = p[n:], first+int64(n/size)
	}
	return nil
}

// open reads block i unless it is the one that is there.
func (r *Reader) open(i int, b *Block) (err error) {
	if r.recs != nil && r.block == i {
		return nil
	}
	bytes := r.Run.BlockBytes(b)
	r.buffer = slices.Grow(r.buffer[:0], bytes)
	if r.readBlock != nil {
		r.recs, err = r.readBlock(i, b, r.buffer[:bytes])
	} else {
		r.recs, err = r.Run.ReadBlock(b, r.buffer[:bytes])
	}
	r.block = i
	return err
}
