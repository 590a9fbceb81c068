package chunker

import "github.com/extsort/extsort/format"

// Block is one entry of a run's index: where a stretch of its records is stored.
type Block struct {
	First   int64  // index in the run of the block's first record
	Records int    // records in the block
	Offset  int64  // bytes from the start of the file
	Bytes   int    // stored bytes, fewer than Records·RecordSize when compressed
	Sum     uint64 // xxhash64 of the stored bytes
	Key     []byte // normalized key of the first record
}

// Run is a sorted (or, for a part of a partition, unsorted) sequence of records in blocks that can be read
// in any order. Its methods are safe for concurrent use.
type Run struct {
	keyer  *format.Keyer
	blocks []Block
	read   func(b *Block, dst []byte) ([]byte, error)
	close  func() error
}

// Records is the number of records in the run.
func (r *Run) Records() int64 {
	if len(r.blocks) == 0 {
		return 0
	}
	last := r.blocks[len(r.blocks)-1]
	return last.First + int64(last.Records)
}

// Blocks is the index of the run, in order of First. It is not to be changed.
func (r *Run) Blocks() []Block { return r.blocks }

// ReadBlock reads the records of block i into dst, which has room for them, and returns them. They are
// checked against the block's checksum.
func (r *Run) ReadBlock(i int, dst []byte) ([]byte, error) { return r.read(&r.blocks[i], dst) }

// Close gives back the storage of the run.
func (r *Run) Close() error { return r.close() }

// MemoryRun is a run whose blocks of blockRecords records lie in recs.
func MemoryRun(k *format.Keyer, recs []byte, blockRecords int) *Run {
	size := k.Layout().RecordSize
	r := &Run{keyer: k, close: func() error { return nil }}
	for at := 0; at < len(recs); at += blockRecords * size {
		n := min(blockRecords*size, len(recs)-at)
		r.blocks = append(r.blocks, Block{
			First: int64(at / size), Records: n / size, Offset: int64(at), Bytes: n,
			Key: k.Append(nil, recs[at:at+size]),
		})
	}
	r.read = func(b *Block, dst []byte) ([]byte, error) {
		return dst[:copy(dst, recs[b.Offset:b.Offset+int64(b.Bytes)])], nil
	}
	return r
}
