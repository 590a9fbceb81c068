package spill

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/safely"
)

// A runSource reads the blocks [from, to) of a run in order. Several callers read whole blocks
// concurrently.
type runSource struct {
	run      *Run
	from, to int
	base     int64           // index of its first record within the run
	records  int64           // number of records
	ahead    *blockio.Reader // nil if nothing is read ahead

	mu     sync.Mutex
	err    error // an error of the index; permanent
	cursor *Cursor
	block  Block  // the block that contains the next record
	number int    // number of that block
	at     int64  // index of the next record within the run
	reader Reader // reads blocks that exceed the request of a caller
}

// Source returns a source of the blocks [i, j) of the run in order. It implements device.Sampled.
func (r *Run) Source(i, j int) device.Source {
	s := &runSource{
		run:    r,
		from:   i,
		to:     j,
		number: i,
		cursor: r.Cursor(i, j),
	}
	var end int64
	if s.base, s.err = r.startOf(i); s.err == nil {
		end, s.err = r.startOf(j)
	}
	s.at = s.base
	s.records = end - s.base
	if s.err == nil && i < j {
		s.err = s.advance()
	}
	if r.directFrom != nil {
		s.ahead = r.directFrom.newReader(r, i, j)
	}
	s.reader.Run = r
	if s.ahead != nil {
		s.reader.readBlock = s.readBlock
	}
	return s
}

// advance moves to the block with the next record.
func (s *runSource) advance() error {
	b, err := s.cursor.Next()
	if b != nil {
		s.block = *b
		s.block.Key = nil // not needed, and valid only until the next entry
	}
	return err
}

// readBlock reads block i, from the prefetcher if there is one.
func (s *runSource) readBlock(i int, b *Block, dst []byte) ([]byte, error) {
	if s.ahead == nil {
		return s.run.ReadBlock(b, dst)
	}
	unit := int64(i - s.from)
	load := func(stored []byte) error { return s.ahead.Read(stored, unit, unit+1) }
	recs, err := s.run.directFrom.readStored(b, dst, load)
	if err == nil && len(recs) != s.run.BlockBytes(b) {
		return nil, fmt.Errorf(
			"spilled run: the block of record %d has %d bytes, but %d were written", b.First,
			len(recs), s.run.BlockBytes(b),
		)
	}
	return recs, err
}

// ReadAhead starts as many requests as there is memory for. See input.ReadAhead.
func (s *runSource) ReadAhead(context.Context, int64) {
	if s.ahead != nil {
		s.ahead.Ahead()
	}
}

func (s *runSource) Records() int64 { return s.records }

// sampledBlocks limits the sample of a source, so that its memory does not depend on the length
// of the run.
const sampledBlocks = 1 << 15

// Sample returns the prefixes of the first records of all blocks, or of evenly spaced blocks if
// there are too many. In a part, they are in the order of the input.
func (s *runSource) Sample() []uint64 {
	every := (s.to-s.from)/sampledBlocks + 1
	var prefixes []uint64
	c := s.run.Cursor(s.from, s.to)

	for i := 0; ; i++ {
		b, err := c.Next()
		if b == nil || err != nil { // the Next method of the source returns the error again
			return prefixes
		}
		if i%every == 0 {
			prefixes = append(prefixes, format.PrefixOf(b.Key))
		}
	}
}

// Next reads as many whole blocks as fit into max records, or a piece of a block that is larger.
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
		err := s.readPiece(s.run.destination(place, first, n))
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
	return first, n, s.readBlocks(i, blocks, s.run.destination(place, first, n))
}

// readPiece fills p with the next records of the current block. REQUIRES: s.mu is held
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

// takeBlocks takes the next whole blocks with at most max records in total. REQUIRES: s.mu is
// held, and the next block fits
func (s *runSource) takeBlocks(max int) (blocks []Block, err error) {
	for n := 0; err == nil && s.number < s.to && n+s.block.Records <= max; s.number++ {
		blocks = append(blocks, s.block)
		n += s.block.Records
		s.at += int64(s.block.Records)
		err = s.advance()
	}
	return blocks, err
}

// destination returns the memory for n records that place provides.
func (r *Run) destination(place func(first int64, n int) []byte, first int64, n int) []byte {
	return place(first, n)[:n*r.keyer.Layout().RecordSize]
}

// readBlocks fills p with blocks. The first of them has the number i. If the blocks come from a
// disk, it reads several concurrently.
func (s *runSource) readBlocks(i int, blocks []Block, p []byte) error {
	var group safely.Group
	group.SetLimit(max(s.run.parallelReads, 1))
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
		if s.run.parallelReads > 1 {
			group.Go(load)
		} else if err := load(); err != nil {
			return err
		}
	}

	return group.Wait()
}

// blockOf returns the number of the block that contains a record, or the number of blocks if
// there is no such record.
func (r *Run) blockOf(record int64) (int, error) {
	return new(finder).blockOf(r, record)
}

func (f *finder) blockOf(r *Run, record int64) (int, error) {
	if len(r.pieces) == 0 || record >= r.firstRecord()+r.records {
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

// A Reader reads records of a run at any position. It caches the last block that it read, and
// reuses one buffer.
type Reader struct {
	Run *Run

	readBlock func(i int, b *Block, dst []byte) ([]byte, error) // nil to use Run.ReadBlock

	recs   []byte // the records of block
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
		p = p[n:]
		first += int64(n / size)
	}

	return nil
}

// open reads block i unless it is the current block.
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
