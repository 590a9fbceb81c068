package chunker

import (
	"context"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Part is the Dataset of a part that Scatter made: the records of one key range, in the order of the input.
type Part struct {
	*spill.Run

	AllEqual bool // all records have the same key, and are in order as they are

	cut  int           // blocks that Cut has given out
	rest *spill.Cursor // of the blocks that follow these; nil: none was cut
	next *spill.Block  // the first of them
}

// Cut returns the next whole blocks that have maxRecords at most, but at least one block.
func (p *Part) Cut(maxRecords int64) (device.Source, error) {
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

// Split cuts the part at the borders of blocks.
func (p *Part) Split(n int) []device.Source {
	blocks := int64(p.Blocks())
	if blocks == 0 {
		return nil
	}
	return input.Evenly(blocks, n, func(_ int, first, n int64) device.Source {
		return p.Source(int(first), int(first+n))
	})
}

// Sample reads records at evenly spread places.
func (p *Part) Sample(ctx context.Context, k *format.Keyer, n int) (plan.Sample, error) {
	return input.SampleRecords(ctx, k, p.Records(), n, input.SampleTogether, 1, (&spill.Reader{Run: p.Run}).ReadRecords)
}

// Check reports no fault: every block that was read has been checked.
func (p *Part) Check(func(string)) error { return nil }
