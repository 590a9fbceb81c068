package session

import (
	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
)

// shortBlocks is a dataset whose sources return short blocks. Each source shortens them
// differently.
type shortBlocks struct {
	chunker.Dataset
	sources int
}

func (d *shortBlocks) Cut(maxRecords int64) (device.Source, error) {
	src, err := d.Dataset.Cut(maxRecords)
	if src == nil || err != nil {
		return nil, err
	}
	return d.cutShort(src), nil
}

func (d *shortBlocks) Split(n int) []device.Source {
	sources := d.Dataset.Split(n)
	for i, src := range sources {
		sources[i] = d.cutShort(src)
	}
	return sources
}

func (d *shortBlocks) cutShort(src device.Source) device.Source {
	d.sources++
	return shortSource{src, 1 + 13*d.sources%29}
}

type shortSource struct {
	device.Source
	most int // maximum number of records in a block
}

func (s shortSource) Next(most int, place func(first int64, n int) []byte) (int64, int, error) {
	return s.Source.Next(min(most, s.most), place)
}
