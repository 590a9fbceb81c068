package spill

import (
	"context"
	"fmt"
	"slices"

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

	taken bool // its storage has been given back
}

// Run is a sorted (or, for a part of a partition, unsorted) sequence of records in blocks that can be read
// in any order. Its methods are safe for concurrent use.
type Run struct {
	Origin Origin // where its records are from, if that is known

	keyer  *format.Keyer
	blocks []Block
	read   func(b *Block, dst []byte) ([]byte, error)
	atOnce int            // blocks that are worth reading at once; 0: one
	drop   func(b *Block) // gives the storage of a block back; nil: there is none of its own
	close  func() error
	from   *Spill // by whose queue it can be read ahead; nil: it cannot
}

// Records is the number of records in the run.
func (r *Run) Records() int64 { return endOf(r.blocks) }

func endOf(blocks []Block) int64 {
	if len(blocks) == 0 {
		return 0
	}
	last := blocks[len(blocks)-1]
	return last.First + int64(last.Records)
}

// Blocks is the index of the run, in order of First. It is not to be changed.
func (r *Run) Blocks() []Block { return r.blocks }

// ReadBlock reads the records of block i into dst, which has room for them, and returns them. They are
// checked against the block's checksum.
func (r *Run) ReadBlock(i int, dst []byte) ([]byte, error) {
	recs, err := r.read(&r.blocks[i], dst)
	if err == nil && len(recs) != r.BlockBytes(i) {
		return nil, fmt.Errorf("spilled run: the block of record %d has %d bytes, where %d were written",
			r.blocks[i].First, len(recs), r.BlockBytes(i))
	}
	return recs, err
}

// Take is ReadBlock for the last time: the block's storage is given back, so that what is written next can have its
// memory in the page cache. Each block may be taken once, by one goroutine.
func (r *Run) Take(i int, dst []byte) ([]byte, error) {
	recs, err := r.ReadBlock(i, dst)
	if err == nil && r.drop != nil {
		r.drop(&r.blocks[i])
	}
	return recs, err
}

// Close gives back the storage of the run.
func (r *Run) Close() error { return r.close() }

// From is the run without its first records; those that it has keep their indexes. The block that it begins in is read
// to know its key, and once more when it is needed.
func (r *Run) From(first int64) (*Run, error) {
	at, size := r.blockOf(first), r.keyer.Layout().RecordSize
	rest := &Run{Origin: r.Origin, keyer: r.keyer, blocks: slices.Clone(r.blocks[at:]), read: r.read, close: r.close}
	if at == len(r.blocks) || first == r.blocks[at].First {
		return rest, nil
	}
	record := make([]byte, size)
	if err := (&Reader{Run: r}).ReadRecords(record, first); err != nil {
		return nil, err
	}
	b := &rest.blocks[0]
	b.First, b.Records, b.Key = first, b.Records-int(first-b.First), r.keyer.Append(nil, record)
	rest.read = func(b *Block, dst []byte) ([]byte, error) {
		if b.First > first {
			return r.read(b, dst)
		}
		dst = dst[:b.Records*size]
		return dst, (&Reader{Run: r}).ReadRecords(dst, first)
	}
	return rest, nil
}

// MemoryRun is a run whose blocks of blockRecords records lie in recs.
func MemoryRun(k *format.Keyer, recs []byte, blockRecords int) *Run {
	size := k.Layout().RecordSize
	read := func(p []byte, first int64) error {
		copy(p, recs[first*int64(size):])
		return nil
	}
	r, _ := SortedRun(k, int64(len(recs)/size), blockRecords, read, func([]byte) {})
	return r
}

// KeptRun is the run of the records that a chunk keeps. close is called when they are no longer needed.
func KeptRun(k *format.Keyer, kept *device.Kept, close func() error) *Run {
	size := k.Layout().RecordSize
	r := &Run{keyer: k, close: close}
	for i, b := range kept.Blocks {
		r.blocks = append(r.blocks,
			Block{First: b.First, Records: b.Records, Offset: int64(i), Bytes: b.Records * size, Key: b.Key})
	}
	r.read = func(b *Block, dst []byte) ([]byte, error) { return kept.Read(int(b.Offset), dst[:b.Bytes]) }
	return r
}

// SortedRun is the run of sorted records, which read gives from any index on, in blocks of blockRecords. seen is shown
// the records of every block that is read.
func SortedRun(k *format.Keyer, records int64, blockRecords int, read func(p []byte, first int64) error,
	seen func(recs []byte)) (*Run, error) {
	size := k.Layout().RecordSize
	r := &Run{keyer: k, close: func() error { return nil }}
	record := make([]byte, size)
	for first := int64(0); first < records; first += int64(blockRecords) {
		if err := read(record, first); err != nil {
			return nil, err
		}
		n := int(min(int64(blockRecords), records-first))
		r.blocks = append(r.blocks, Block{First: first, Records: n, Bytes: n * size, Key: k.Append(nil, record)})
	}
	r.read = func(b *Block, dst []byte) ([]byte, error) {
		dst = dst[:b.Bytes]
		err := read(dst, b.First)
		if err == nil {
			seen(dst)
		}
		return dst, err
	}
	return r, nil
}

// checkIndex reports blocks that overlap or are missing: a mistake of whoever wrote the run, and the records
// out of it would not be those that went in.
func checkIndex(blocks []Block) error {
	next := int64(0)
	for _, b := range blocks {
		if b.First != next {
			return fmt.Errorf("spilled run: block of record %d stands where record %d is due", b.First, next)
		}
		next += int64(b.Records)
	}
	return nil
}

// BlockBytes is the size of the records of block i.
func (r *Run) BlockBytes(i int) int { return r.blocks[i].Records * r.keyer.Layout().RecordSize }

// LargestBlock is the number of records in the largest block.
func (r *Run) LargestBlock() (records int) {
	for i := range r.blocks {
		records = max(records, r.blocks[i].Records)
	}
	return records
}

// CopyTo writes the records of the run as they stand, by several workers.
func (r *Run) CopyTo(ctx context.Context, workers int, w device.BlockWriter) error {
	return device.Copy(ctx, r.Source(0, len(r.blocks)), workers, r.LargestBlock(), r.keyer.Layout().RecordSize, w)
}
