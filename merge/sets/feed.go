package sets

import (
	"context"
	"io"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge"
)

// blocksPerInput is the number of blocks of an input: one is read, one is cut into spans, and
// workers use the others.
const blocksPerInput = 4

// A feed reads the blocks of an input and checks their order. It ends each block with the last
// record of a group, and keeps the records of the next group for the next block.
type feed struct {
	number int
	in     Input
	free   chan *block
	blocks chan *block
	failed error // why the input was not read to its end; set before blocks is closed

	records int64  // number of records in the blocks before the current one
	kept    []byte // records for the next block
	last    stretch
}

// newBlocks returns the blocks of a feed.
func newBlocks(k *format.Keyer, records int) (all []*block) {
	for range blocksPerInput {
		all = append(all, newBlock(k, records))
	}
	return all
}

// newFeed returns a feed of an input that uses the given blocks.
func newFeed(number int, in Input, blocks []*block) *feed {
	f := &feed{
		number: number,
		in:     in,
		free:   make(chan *block, blocksPerInput),
		blocks: make(chan *block, blocksPerInput),
		last:   stretch{keyer: in.Keyer, size: in.Keyer.Layout().RecordSize},
	}
	for _, b := range blocks {
		b.free = f.free
		f.free <- b
	}
	return f
}

// start reads the input in a new goroutine.
func (f *feed) start(ctx context.Context, tasks *safely.Group) {
	tasks.Go(func() error {
		defer close(f.blocks)
		f.failed = safely.Call(func() error { return f.read(ctx) })
		return f.failed
	})
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
		atEnd, err := f.fill(b)
		if err != nil {
			return err
		}
		if len(b.keys) > 0 {
			b.holders.Store(1)
			f.blocks <- b // there is room for all blocks
		}
		if atEnd {
			return nil
		}
	}
}

// fill reads the next records into b.
func (f *feed) fill(b *block) (atEnd bool, err error) {
	memory := b.recs[:cap(b.recs)]
	kept := copy(memory, f.kept)
	f.kept = f.kept[:0]
	n, err := input.ReadFull(f.in.Records, memory[kept:])
	if err != nil && err != io.EOF {
		return false, err
	}
	f.in.Read(memory[kept : kept+n])
	b.setRecords((kept + n) / b.size)
	if err := f.checkOrder(b); err != nil {
		return false, err
	}
	if err == io.EOF {
		return true, nil
	}

	start := b.lastGroup()
	b.open = start == 0
	if !b.open {
		f.kept = append(f.kept, b.recs[start*b.size:]...)
		b.truncate(start)
	}
	f.records += int64(len(b.keys))
	f.setLast(b)
	return false, nil
}

// setLast stores the last record of a block.
func (f *feed) setLast(b *block) {
	last := len(b.keys) - 1
	f.last.keys = append(f.last.keys[:0], b.keys[last])
	f.last.recs = append(f.last.recs[:0], b.record(last)...)
}

// checkOrder returns a *merge.DisorderError if a record is less than the one before it.
func (f *feed) checkOrder(b *block) error {
	if len(b.keys) == 0 {
		return nil
	}
	if len(f.last.keys) > 0 {
		c := f.last.compare(0, &b.stretch, 0)
		if c > 0 {
			return f.in.disorder(f.number, f.records, f.last.record(0), b.record(0))
		}
		b.continues = c == 0
	}
	if i := b.check(); i > 0 {
		return f.in.disorder(f.number, f.records+int64(i), b.record(i-1), b.record(i))
	}
	return nil
}

// disorder returns the error for a record of an input, which is less than the one before it. at is the index of the
// record.
func (in *Input) disorder(number int, at int64, before, record []byte) error {
	return &merge.DisorderError{
		Input:  number,
		Record: at,
		Key:    in.Keyer.Append(nil, record),
		Before: in.Keyer.Append(nil, before),
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
