package sets

import (
	"context"
	"io"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
)

const (
	// prefixBytes is the number of bytes of a key in block.prefixes.
	prefixBytes = 8

	// blocksPerInput is the number of blocks of an input: one is read, one waits, and one is walked
	// through.
	blocksPerInput = 3
)

// BlockBytes returns the size of a block with which an operation on n inputs and its outputs use
// about the given memory.
func BlockBytes(memory int64, n, recordSize int) int {
	const (
		most    = 256 << 10
		outputs = 3
	)
	perRecord := int64(recordSize + prefixBytes + 1)
	blocks := int64(n*blocksPerInput + outputs)
	records := min(memory/blocks/perRecord, int64(most/recordSize))
	return int(max(records, 1)) * recordSize
}

// A block contains some records of an input.
type block struct {
	recs     []byte
	size     int
	prefixes []uint64 // the first bytes of the keys
	repeats  []bool   // whether the record has the same key as the one before it in the input
}

func (b *block) records(from, to int) []byte { return b.recs[from*b.size : to*b.size] }

// groupEnd returns the end of the records in the block with the same key as record i.
func (b *block) groupEnd(i int) int {
	for i++; i < len(b.repeats) && b.repeats[i]; i++ {
	}
	return i
}

// keys returns the number of keys that begin in a range.
func (b *block) keys(from, to int) (n int64) {
	for _, repeats := range b.repeats[from:to] {
		if !repeats {
			n++
		}
	}
	return n
}

// A feed reads the blocks of an input.
type feed struct {
	number int
	in     Input
	free   chan *block
	blocks chan *block

	done int64  // number of records read
	last []byte // the last record of the previous block
}

func newFeed(number int, in Input, blockBytes int) *feed {
	size := in.Keyer.Layout().RecordSize
	records := max(blockBytes/size, 1)
	f := &feed{
		number: number,
		in:     in,
		free:   make(chan *block, blocksPerInput),
		blocks: make(chan *block, blocksPerInput),
	}
	for range blocksPerInput {
		f.free <- &block{
			recs:     make([]byte, records*size),
			size:     size,
			prefixes: make([]uint64, records),
			repeats:  make([]bool, records),
		}
	}
	return f
}

// read reads the input to its end.
func (f *feed) read(ctx context.Context) error {
	for {
		var b *block
		select {
		case b = <-f.free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		n, err := input.ReadFull(f.in.Records, b.recs[:cap(b.recs)])
		atEnd := err == io.EOF
		if err != nil && !atEnd {
			return err
		}
		if n > 0 {
			f.in.Read(b.recs[:n])
			if err := f.prepare(b, n/b.size); err != nil {
				return err
			}
			f.blocks <- b // there is room for all blocks
		}
		if atEnd {
			return nil
		}
	}
}

// prepare computes the prefixes of n records and checks their order.
func (f *feed) prepare(b *block, n int) error {
	k := f.in.Keyer
	b.recs = b.recs[:n*b.size]
	b.prefixes = b.prefixes[:n]
	b.repeats = b.repeats[:n]
	k.Prefixes(b.prefixes, b.recs)

	b.repeats[0] = false
	if f.done > 0 {
		c := k.Compare(f.last, b.recs)
		if c > 0 {
			return f.disorder(f.last, b.records(0, 1), 0)
		}
		b.repeats[0] = c == 0
	}
	hasMore := k.KeySize() > prefixBytes
	previous := b.prefixes[0]
	for i := 1; i < n; i++ {
		prefix := b.prefixes[i]
		repeats := prefix == previous
		if repeats && hasMore {
			c := k.Compare(b.records(i-1, i), b.records(i, i+1))
			if c > 0 {
				return f.disorder(b.records(i-1, i), b.records(i, i+1), i)
			}
			repeats = c == 0
		}
		if prefix < previous {
			return f.disorder(b.records(i-1, i), b.records(i, i+1), i)
		}
		b.repeats[i] = repeats
		previous = prefix
	}
	f.last = append(f.last[:0], b.records(n-1, n)...)
	f.done += int64(n)
	return nil
}

// disorder returns the error for record i of a block, which is less than the one before it.
func (f *feed) disorder(before, record []byte, i int) error {
	return &merge.DisorderError{
		Input:  f.number,
		Record: f.done + int64(i),
		Key:    f.in.Keyer.Append(nil, record),
		Before: f.in.Keyer.Append(nil, before),
	}
}

// Comparable reports whether the keys of two layouts have the same normalized form: the same types
// in the same order and direction. Offsets and byte orders may differ.
func Comparable(a, b format.Layout) bool {
	if len(a.Key) != len(b.Key) {
		return false
	}
	for i, f := range a.Key {
		g := b.Key[i]
		f.Offset, g.Offset = 0, 0
		f.Type.BigEndian, g.Type.BigEndian = false, false
		if f != g {
			return false
		}
	}
	return true
}
