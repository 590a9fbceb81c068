package spill

import (
	"context"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Block is one entry of a run's index: where a stretch of its records is stored.
type Block struct {
	First   int64 // index in the run of the block's first record
	Records int   // records in the block
	Volume  int   // which of the spill's files
	Offset  int64 // bytes from the start of the file
	Bytes   int   // stored bytes, fewer than Records·RecordSize when compressed
	Codec   format.Compression
	Sum     uint64 // XXH3 (64 bits) of the stored bytes
	Key     []byte // normalized key of the first record
}

// Run is a sorted (or, for a part of a partition, unsorted) sequence of records in blocks that can be read
// in any order. Its methods are safe for concurrent use.
type Run struct {
	Origin Origin // where its records are from, if that is known

	keyer   *format.Keyer
	pieces  []indexPiece // of the index, in order
	blocks  int          // entries in all of them
	records int64
	largest int      // records in the largest block
	head    *Block   // replaces the first entry; nil: it is as the index has it
	indexes []*index // that the run owns

	stored int64   // bytes of its blocks in the files of spill
	ends   []int64 // where its last block ends in each file of spill

	read   func(b *Block, dst []byte) ([]byte, error)
	atOnce int            // blocks that are worth reading at once; 0: one
	drop   func(b *Block) // gives the storage of a block back; nil: there is none of its own
	close  func() error
	from   *Spill // by whose queue it can be read ahead; nil: it cannot

	taken atomic.Int64 // blocks whose storage has been given back: the first ones
}

// An indexPiece is consecutive entries of an index, which are those of consecutive blocks of a run.
type indexPiece struct {
	entries entries
	from    int   // number of the first entry
	n       int   // entries
	start   int   // number in the run of the first one
	shift   int64 // what the index of a record in the run is greater by than in the entries
}

// Records is the number of records in the run.
func (r *Run) Records() int64 { return r.records }

// Blocks is the number of blocks of the run.
func (r *Run) Blocks() int { return r.blocks }

// add appends entries of an index to that of the run, which have so many records.
func (r *Run) add(p indexPiece, records int64) {
	if p.n == 0 {
		return
	}
	p.start = r.blocks
	r.pieces = append(r.pieces, p)
	r.blocks += p.n
	r.records += records
}

// inMemory returns all entries where they are in memory as they are.
func (r *Run) inMemory() (all []Block, ok bool) {
	if len(r.pieces) != 1 || r.head != nil {
		return nil, false
	}
	p := &r.pieces[0]
	if p.shift != 0 {
		return nil, false
	}
	switch e := p.entries.(type) {
	case memoryEntries:
		return e[p.from : p.from+p.n], true
	case *index:
		if e.stored == 0 {
			return e.tail[p.from : p.from+p.n], true
		}
	}
	return nil, false
}

// entriesFrom fills some of dst with the entries from number i on. See entries.
func (r *Run) entriesFrom(i int, dst []Block, scratch *[]byte) (int, error) {
	at := sort.Search(len(r.pieces), func(k int) bool { return r.pieces[k].start+r.pieces[k].n > i })
	p := &r.pieces[at]
	skipped := i - p.start
	n, err := p.entries.read(p.from+skipped, dst[:min(len(dst), p.n-skipped)], scratch)
	if err != nil {
		return 0, err
	}
	for k := range dst[:n] {
		dst[k].First += p.shift
	}
	if i == 0 && r.head != nil {
		dst[0] = *r.head
	}
	return n, nil
}

// entry returns the entry of block i.
func (r *Run) entry(i int) (*Block, error) {
	return new(finder).entry(r, i)
}

// finder has the memory of the entry that it found last.
type finder struct {
	one     [1]Block
	scratch []byte
}

func (f *finder) entry(r *Run, i int) (*Block, error) {
	if all, ok := r.inMemory(); ok {
		return &all[i], nil
	}
	_, err := r.entriesFrom(i, f.one[:], &f.scratch)
	return &f.one[0], err
}

// startOf returns the index of the first record of block i, which may be behind the last one.
func (r *Run) startOf(i int) (int64, error) {
	if i == r.blocks {
		return r.records + r.base(), nil
	}
	b, err := r.entry(i)
	if err != nil {
		return 0, err
	}
	return b.First, nil
}

// base is the index of the first record, which is not 0 where the run is the rest of another.
func (r *Run) base() int64 {
	if r.head == nil {
		return 0
	}
	return r.head.First
}

// ReadBlock reads the records of a block of the run into dst, which has room for them, and returns them. They are
// checked against the block's checksum.
func (r *Run) ReadBlock(b *Block, dst []byte) ([]byte, error) {
	recs, err := r.read(b, dst)
	if err == nil && len(recs) != r.BlockBytes(b) {
		return nil, fmt.Errorf("spilled run: the block of record %d has %d bytes, but %d were written",
			b.First, len(recs), r.BlockBytes(b))
	}
	return recs, err
}

// Take is ReadBlock of block i for the last time: the block's storage is given back, so that what is written next can
// have its memory in the page cache. REQUIRES: each block is taken once, and those before it are taken, or being taken.
func (r *Run) Take(i int, b *Block, dst []byte) ([]byte, error) {
	recs, err := r.ReadBlock(b, dst)
	if err == nil && r.drop != nil {
		r.drop(b)
	}
	for r.drop != nil {
		taken := r.taken.Load()
		if taken > int64(i) || r.taken.CompareAndSwap(taken, int64(i)+1) {
			break
		}
	}
	return recs, err
}

// Close gives back the storage of the run, and its index.
func (r *Run) Close() error { return r.close() }

// From is the run without its first records; those that it has keep their indexes. The block that it begins in is read
// to know its key, and once more when it is needed. The run that it is of has to be closed, not this one.
func (r *Run) From(first int64) (*Run, error) {
	size := r.keyer.Layout().RecordSize
	at, err := r.blockOf(first)
	if err != nil {
		return nil, err
	}
	rest := &Run{Origin: r.Origin, keyer: r.keyer, largest: r.largest, read: r.read, close: func() error { return nil }}
	if at == r.blocks {
		return rest, nil
	}
	rest.add(indexPiece{entries: restOf{r, at}, n: r.blocks - at}, r.records-first)
	b, err := r.entry(at)
	if err != nil {
		return nil, err
	}
	head := *b
	rest.head = &head
	if first == b.First {
		return rest, nil
	}
	record := make([]byte, size)
	if err := (&Reader{Run: r}).ReadRecords(record, first); err != nil {
		return nil, err
	}
	head.First, head.Records, head.Key = first, b.Records-int(first-b.First), r.keyer.Append(nil, record)
	rest.read = func(b *Block, dst []byte) ([]byte, error) {
		if b.First > first {
			return r.read(b, dst)
		}
		dst = dst[:b.Records*size]
		return dst, (&Reader{Run: r}).ReadRecords(dst, first)
	}
	return rest, nil
}

// restOf is the entries of a run from one on.
type restOf struct {
	run  *Run
	from int
}

func (e restOf) read(i int, dst []Block, scratch *[]byte) (int, error) {
	return e.run.entriesFrom(e.from+i, dst, scratch)
}

// newMemoryRun is a run of blocks that lie in memory, or are read from elsewhere.
func newMemoryRun(k *format.Keyer, blocks []Block) *Run {
	r := &Run{keyer: k, close: func() error { return nil }}
	records := int64(0)
	for i := range blocks {
		records += int64(blocks[i].Records)
		r.largest = max(r.largest, blocks[i].Records)
	}
	r.add(indexPiece{entries: memoryEntries(blocks), n: len(blocks)}, records)
	return r
}

// MemoryRun is a run whose blocks of blockRecords records lie in recs.
func MemoryRun(k *format.Keyer, recs []byte, blockRecords int) *Run {
	size := k.Layout().RecordSize
	read := func(p []byte, first int64) error {
		copy(p, recs[first*int64(size):])
		return nil
	}
	s := Sorted{Records: int64(len(recs) / size), ReadRecords: read, Seen: func([]byte) {}}
	r, _ := s.Run(k, blockRecords, true)
	return r
}

// KeptRun is the run of the records that a chunk keeps. close is called when they are no longer needed.
func KeptRun(k *format.Keyer, kept *device.Kept, close func() error) *Run {
	size := k.Layout().RecordSize
	var blocks []Block
	for i, b := range kept.Blocks {
		blocks = append(blocks,
			Block{First: b.First, Records: b.Records, Offset: int64(i), Bytes: b.Records * size, Key: b.Key})
	}
	r := newMemoryRun(k, blocks)
	r.close = close
	r.read = func(b *Block, dst []byte) ([]byte, error) { return kept.Read(int(b.Offset), dst[:b.Bytes]) }
	return r
}

// Sorted is sorted records that can be read from any place.
type Sorted struct {
	Records     int64
	ReadRecords func(p []byte, first int64) error // fills p with the records from index first on
	Seen        func(recs []byte)                 // is shown the records of every block that is read
}

// Run is the run of the records, in blocks of blockRecords. Where its index does not stay in memory, an entry is made
// when it is needed, from the first record of its block.
func (s Sorted) Run(k *format.Keyer, blockRecords int, inMemory bool) (*Run, error) {
	all := sortedEntries{s, k, int64(blockRecords)}
	n := int((s.Records + int64(blockRecords) - 1) / int64(blockRecords))
	var r *Run
	if inMemory {
		blocks := make([]Block, n)
		for i := range blocks {
			if _, err := all.read(i, blocks[i:i+1], new([]byte)); err != nil {
				return nil, err
			}
		}
		r = newMemoryRun(k, blocks)
	} else {
		r = &Run{keyer: k, largest: int(min(int64(blockRecords), s.Records)), close: func() error { return nil }}
		r.add(indexPiece{entries: all, n: n}, s.Records)
	}
	r.read = func(b *Block, dst []byte) ([]byte, error) {
		dst = dst[:b.Bytes]
		err := s.ReadRecords(dst, b.First)
		if err == nil {
			s.Seen(dst)
		}
		return dst, err
	}
	return r, nil
}

// sortedEntries are made one at a time.
type sortedEntries struct {
	Sorted
	keyer        *format.Keyer
	blockRecords int64
}

func (s sortedEntries) read(i int, dst []Block, scratch *[]byte) (int, error) {
	size := s.keyer.Layout().RecordSize
	first := int64(i) * s.blockRecords
	if cap(*scratch) < size+s.keyer.KeySize() {
		*scratch = make([]byte, size+s.keyer.KeySize())
	}
	record := (*scratch)[:size]
	if err := s.ReadRecords(record, first); err != nil {
		return 0, err
	}
	n := int(min(s.blockRecords, s.Records-first))
	key := s.keyer.Append((*scratch)[size:size], record)
	dst[0] = Block{First: first, Records: n, Bytes: n * size, Key: key}
	return 1, nil
}

// BlockBytes is the size of the records of a block.
func (r *Run) BlockBytes(b *Block) int { return b.Records * r.keyer.Layout().RecordSize }

// LargestBlock is the number of records in the largest block.
func (r *Run) LargestBlock() (records int) { return r.largest }

// CopyTo writes the records of the run as they stand, by several workers.
func (r *Run) CopyTo(ctx context.Context, workers int, w device.BlockWriter) error {
	return device.Copy(ctx, r.Source(0, r.blocks), workers, r.largest, r.keyer.Layout().RecordSize, w)
}

// checkIndex reports blocks that overlap or are missing, where one is due that begins with record next: a mistake of
// whoever wrote the run, and the records out of it would not be those that went in.
func checkIndex(next int64, blocks []Block) error {
	for i := range blocks {
		b := &blocks[i]
		if b.First != next {
			return fmt.Errorf("spilled run: found the block of record %d in place of record %d", b.First, next)
		}
		next += int64(b.Records)
	}
	return nil
}
