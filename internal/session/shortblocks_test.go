package session

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
)

// shortBlocks is a dataset whose sources cut blocks short, each source in another way.
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
	most int // records of a block
}

func (s shortSource) Next(most int, place func(first int64, n int) []byte) (int64, int, error) {
	return s.Source.Next(min(most, s.most), place)
}

// TestShortBlocks sorts sources that return short blocks with every strategy: plain records, and indexes of them.
func TestShortBlocks(t *testing.T) {
	const n = 10_000
	k := plainKinds[1]
	orders := map[string]func(i int) uint64{
		"sorted":        func(i int) uint64 { return uint64(i) },
		"nearly sorted": func(i int) uint64 { return uint64(i) * uint64(min(i%200, 1)) },
		"reversed":      func(i int) uint64 { return uint64(n - i) },
		"random":        func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 },
	}
	ran := map[Strategy]bool{}
	for order, key := range orders {
		var recs, indexes []byte
		for i := range n {
			recs = binary.LittleEndian.AppendUint64(recs, key(i))
		}
		at, _ := k.selected(recs, Options{})
		for _, p := range at {
			indexes = binary.LittleEndian.AppendUint32(indexes, uint32(p))
		}
		for _, strategy := range append([]Strategy{Spread, InCore}, anyStrategy...) {
			for _, argsort := range []string{"", "u32"} {
				t.Run(fmt.Sprint(order, "/", strategy, argsort), func(t *testing.T) {
					opt := small(Options{Record: k.spec, Strategy: strategy, Argsort: argsort, Workers: 3})
					opt.Inputs = []string{writeFile(t, recs[:8*1333]), writeFile(t, recs[8*1333:])}
					opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset { return &shortBlocks{Dataset: d} }
					switch strategy {
					case Spread:
						opt.faults.chunkRecords, opt.faults.moreDevices = n, 1
					case InCore:
						opt.Strategy, opt.faults.chunkRecords = MergeRuns, n
					}
					want := k.want(recs, Options{})
					if argsort != "" {
						want = indexes
					}
					got, report, err := sortToBytes(t, opt)
					if err != nil || !bytes.Equal(got, want) {
						t.Fatalf("%d bytes, %d are due: %v", len(got), len(want), err)
					}
					ran[report.Strategy] = true
				})
			}
		}
	}
	for _, strategy := range []Strategy{Copy, Sift, InCore, Reread, MergeRuns, Partition, Spread} {
		if !ran[strategy] {
			t.Errorf("no sort was done by strategy %s", strategy)
		}
	}
}
