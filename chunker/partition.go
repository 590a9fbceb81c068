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

	cut int // number of blocks that Cut has returned
	// rest iterates over the remaining blocks; nil before the first Cut.
	rest *spill.Cursor
	next *spill.Block // the first of the remaining blocks
}

// Cut returns the next whole blocks that contain at most maxRecords records, but at least one
// block.
func (p *Partition) Cut(maxRecords int64) (device.Source, error) {
	if p.cut == p.Blocks() {
		return nil, nil
	}
	var err error
	if p.rest == nil {
		p.rest = p.Cursor(0, p.Blocks())
		p.next, err = p.rest.Next()
	}

	i := p.cut
	for records := int64(0); err == nil && p.next != nil; p.cut++ {
		records += int64(p.next.Records)
		if records > maxRecords && p.cut > i {
			break
		}
		p.next, err = p.rest.Next()
	}

	if err != nil {
		return nil, err
	}
	return p.Source(i, p.cut), nil
}

// Split divides the partition at the borders of blocks.
func (p *Partition) Split(n int) []device.Source {
	blocks := int64(p.Blocks())
	if blocks == 0 {
		return nil
	}
	return input.Evenly(blocks, n, func(_ int, first, n int64) device.Source {
		return p.Source(int(first), int(first+n))
	})
}

// Sample reads records at evenly spaced positions.
func (p *Partition) Sample(
	ctx context.Context, k *format.Keyer, n int,
) (plan.Sample, error) {
	together := input.SampleTogether
	if p.Sorted {
		together = 1
	}
	return input.SampleRecords(
		ctx, k, p.Records(), n, together, 1,
		(&spill.Reader{Run: p.Run}).ReadRecords,
	)
}

// Check always succeeds, because every block is verified when it is read.
func (p *Partition) Check(func(string)) error { return nil }
