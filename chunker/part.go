package chunker

import (
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

	cut int // blocks that Cut has given out
}

// Cut returns the next whole blocks that have maxRecords at most, but at least one block.
func (p *Part) Cut(maxRecords int64) (device.Source, error) {
	i, j := p.cut, p.cut
	blocks := p.Blocks()
	for records := int64(0); j < len(blocks); j++ {
		records += int64(blocks[j].Records)
		if records > maxRecords && j > i {
			break
		}
	}
	if i == j {
		return nil, nil
	}
	p.cut = j
	return p.Source(i, j), nil
}

// Split cuts the part at the borders of blocks.
func (p *Part) Split(n int) []device.Source {
	blocks := int64(len(p.Blocks()))
	if blocks == 0 {
		return nil
	}
	return input.Evenly(blocks, n, func(_ int, first, n int64) device.Source {
		return p.Source(int(first), int(first+n))
	})
}

// Sample reads records at evenly spread places.
func (p *Part) Sample(k *format.Keyer, n int) (plan.Sample, error) {
	return input.SampleRecords(k, p.Records(), n, input.SampleTogether, 1, (&spill.Reader{Run: p.Run}).ReadRecords)
}

// Check reports no fault: every block that was read has been checked.
func (p *Part) Check(func(string)) error { return nil }
