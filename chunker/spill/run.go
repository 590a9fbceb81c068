package spill

import (
	"context"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// An Origin describes the input records that a run contains, or, with a limit, the input records
// whose first ones (in sorted order) it contains.
type Origin struct {
	First, Records int64
	Sum            format.Checksum // checksum of these records, if requested
}

// A Block is one entry of the index of a run. It describes where a range of records is stored.
type Block struct {
	First   int64 // index of its first record within the run
	Records int   // number of records
	Volume  int   // number of the spill file
	Offset  int64 // offset in the file in bytes
	// stored size in bytes, which is less than Records·RecordSize if the block is compressed
	Bytes int
	Codec format.Compression
	Sum   uint64 // XXH3 (64 bits) of the stored bytes
	Key   []byte // normalized key of the first record
}

// A Run is a sequence of records in blocks that can be read in any order. It is sorted, unless it
// is a part of a partition. Its methods are safe for concurrent use.
type Run struct {
	Origin Origin // the input records that it contains, if known

	keyer   *format.Keyer
	pieces  []indexPiece // of the index, in order
	blocks  int          // total number of entries
	records int64
	largest int // number of records in the largest block
	// head is the first entry of a run that begins within a block; nil if it begins with a block.
	head    *Block
	indexes []*index // the indexes that the run owns

	stored int64 // size of its blocks in the spill files in bytes
	// ends holds, for each spill file, the end of the run's last block.
	ends []int64

	read          func(b *Block, dst []byte) ([]byte, error)
	parallelReads int            // number of blocks worth reading concurrently; 0 means 1
	drop          func(b *Block) // releases the storage of a block; nil if blocks have none of their own
	close         func() error
	// directFrom is the spill that can read blocks ahead with direct I/O; nil for other runs.
	directFrom *Spill

	taken atomic.Int64 // number of leading blocks whose storage has been released
}

// An indexPiece is a range of consecutive entries of an index. They describe consecutive blocks
// of a run.
type indexPiece struct {
	entries entries
	from    int // number of the first entry within entries
	n       int // number of entries
	start   int // number of the first entry within the run
	// shift is the difference between the index of a record in the run and its index in entries.
	shift int64
}

// Records returns the number of records in the run.
func (r *Run) Records() int64 { return r.records }

// Blocks returns the number of blocks of the run.
func (r *Run) Blocks() int { return r.blocks }

// add appends entries of an index to the run. They describe the given number of records.
func (r *Run) add(p indexPiece, records int64) {
	if p.n == 0 {
		return
	}
	p.start = r.blocks
	r.pieces = append(r.pieces, p)
	r.blocks += p.n
	r.records += records
}

// inMemory returns all entries if they are in memory in their final form.
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

// entriesFrom fills a prefix of dst with the entries from number i on. See entries.
func (r *Run) entriesFrom(i int, dst []Block, scratch *[]byte) (int, error) {
	at := sort.Search(len(r.pieces), func(k int) bool {
		return r.pieces[k].start+r.pieces[k].n > i
	})
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

// A finder holds the memory of the entry that it found last.
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

// startOf returns the index of the first record of block i. If i is the number of blocks, it
// returns the index after the last record.
func (r *Run) startOf(i int) (int64, error) {
	if i == r.blocks {
		return r.records + r.firstRecord(), nil
	}
	b, err := r.entry(i)
	if err != nil {
		return 0, err
	}
	return b.First, nil
}

// firstRecord returns the index of the first record. It is not 0 if the run is the rest of another
// run.
func (r *Run) firstRecord() int64 {
	if r.head == nil {
		return 0
	}
	return r.head.First
}

// ReadBlock reads the records of a block into dst and returns them. It verifies the checksum of
// the block. REQUIRES: dst has room for the block
func (r *Run) ReadBlock(b *Block, dst []byte) ([]byte, error) {
	recs, err := r.read(b, dst)
	if err == nil && len(recs) != r.BlockBytes(b) {
		return nil, fmt.Errorf(
			"spilled run: the block of record %d has %d bytes, but %d were written", b.First,
			len(recs), r.BlockBytes(b),
		)
	}
	return recs, err
}

// Take reads block i for the last time and releases its storage, so that the page cache can use
// the memory for new data. REQUIRES: several goroutines take the blocks in order, each block once
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

// Close releases the storage of the run and its index.
func (r *Run) Close() error { return r.close() }

// From returns the rest of the run from record first on. Records keep their indexes. From reads
// the block that contains the first record to get its key; the block is read again when it is
// needed. The caller must close the original run, not the result.
func (r *Run) From(first int64) (*Run, error) {
	size := r.keyer.Layout().RecordSize
	at, err := r.blockOf(first)
	if err != nil {
		return nil, err
	}
	rest := &Run{
		Origin:  r.Origin,
		keyer:   r.keyer,
		largest: r.largest,
		read:    r.read,
		close:   func() error { return nil },
	}
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

// restOf contains the entries of a run from number from on.
type restOf struct {
	run  *Run
	from int
}

func (e restOf) read(i int, dst []Block, scratch *[]byte) (int, error) {
	return e.run.entriesFrom(e.from+i, dst, scratch)
}

// newMemoryRun returns a run whose index is in memory. The caller sets its read function.
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

// MemoryRun returns a run of records in memory, in blocks of blockRecords records.
func MemoryRun(k *format.Keyer, recs []byte, blockRecords int) *Run {
	size := k.Layout().RecordSize
	read := func(p []byte, first int64) error {
		copy(p, recs[first*int64(size):])
		return nil
	}
	s := Sorted{
		Records:     int64(len(recs) / size),
		ReadRecords: read,
		Seen:        func([]byte) {},
	}
	r, _ := s.Run(k, blockRecords, true)
	return r
}

// RetainedRun returns a run of the records that a chunk retains in memory. Closing the run calls
// close.
func RetainedRun(k *format.Keyer, retained *device.Retained, close func() error) *Run {
	size := k.Layout().RecordSize
	var blocks []Block
	for i, b := range retained.Blocks {
		blocks = append(blocks,
			Block{
				First:   b.First,
				Records: b.Records,
				Offset:  int64(i),
				Bytes:   b.Records * size,
				Key:     b.Key,
			})
	}

	r := newMemoryRun(k, blocks)
	r.close = close
	r.read = func(b *Block, dst []byte) ([]byte, error) {
		return retained.Read(int(b.Offset), dst[:b.Bytes])
	}
	return r
}

// Sorted is a sorted sequence of records with random access.
type Sorted struct {
	Records     int64
	ReadRecords func(p []byte, first int64) error // fills p with the records from index first on
	// called with the records of every block that is read
	Seen func(recs []byte)
}

// Run returns a run of the records, in blocks of blockRecords records. If inMemory is false, the
// run makes each index entry when it is needed, by reading the first record of the block.
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
		r = &Run{
			keyer:   k,
			largest: int(min(int64(blockRecords), s.Records)),
			close:   func() error { return nil },
		}
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

// sortedEntries makes entries one at a time, when they are needed.
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
	dst[0] = Block{
		First:   first,
		Records: n,
		Bytes:   n * size,
		Key:     key,
	}
	return 1, nil
}

// BlockBytes returns the size of the records of a block in bytes.
func (r *Run) BlockBytes(b *Block) int {
	return b.Records * r.keyer.Layout().RecordSize
}

// LargestBlock returns the number of records in the largest block.
func (r *Run) LargestBlock() (records int) { return r.largest }

// CopyTo writes the records of the run in their stored order, with several workers.
func (r *Run) CopyTo(ctx context.Context, workers int, w device.BlockWriter) error {
	return device.Copy(
		ctx, r.Source(0, r.blocks), workers, r.largest, r.keyer.Layout().RecordSize, w,
	)
}

// checkIndex returns an error if blocks overlap or if records between them are missing. The first
// block must begin with record next. Such an error is a bug in the writer of the run.
func checkIndex(next int64, blocks []Block) error {
	for i := range blocks {
		b := &blocks[i]
		if b.First != next {
			return fmt.Errorf(
				"spilled run: found the block of record %d in place of record %d", b.First,
				next,
			)
		}
		next += int64(b.Records)
	}
	return nil
}
