package chunker

import (
	"context"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// A Partition is the Dataset of one partition that Scatter made: the records of one key range, in
// the order of the input.
type Partition struct {
	*spill.Run

	AllEqual bool // all records have the same key, so they are already sorted

	// Sorted means that the run is in the order of the keys. Adjacent records then have almost the
	// same key, so a sample takes only one of them.
	Sorted bool

	blocksCut int // number of blocks that Cut has returned
	// cursor iterates over the remaining blocks; nil before the first Cut.
	cursor    *spill.Cursor
	nextBlock *spill.Block // the first of the remaining blocks
}

// Cut returns the next whole blocks that contain at most maxRecords records, but at least one
// block.
func (p *Partition) Cut(maxRecords int64) (device.Source, error) {
	if p.blocksCut == p.Blocks() {
		return nil, nil
	}
	var err error
	if p.cursor == nil {
		p.cursor = p.Cursor(0, p.Blocks())
		p.nextBlock, err = p.cursor.Next()
	}

	i := p.blocksCut
	for records := int64(0); err == nil && p.nextBlock != nil; p.blocksCut++ {
		records += int64(p.nextBlock.Records)
		if records > maxRecords && p.blocksCut > i {
			break
		}
		p.nextBlock, err = p.cursor.Next()
	}

	if err != nil {
		return nil, err
	}
	return p.Source(i, p.blocksCut), nil
}

// Split divides the partition at the borders of blocks.
func (p *Partition) Split(n int) []device.Source {
	blocks := int64(p.Blocks())
	if blocks == 0 {
		return nil
	}
	return input.SplitEvenly(blocks, n, func(_ int, first, n int64) device.Source {
		return p.Source(int(first), int(first+n))
	})
}

// Sample reads records at evenly spaced positions.
func (p *Partition) Sample(
	ctx context.Context,
	k format.Prefixer,
	n int,
) (plan.Sample, error) {
	together := input.SampleTogether
	if p.Sorted {
		together = 1
	}
	return input.SampleRecords(
		ctx,
		k,
		p.Records(),
		n,
		together,
		1,
		(&spill.Reader{Run: p.Run}).ReadRecords,
	)
}

// Check always succeeds, because every block is verified when it is read.
func (p *Partition) Check(func(string)) error { return nil }
