package merge

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// sortedRuns makes runs of u64 keys of that distribution.
func sortedRuns(k *format.Keyer, runs, records int, dist string) []*chunker.Run {
	rng := rand.New(rand.NewPCG(1, uint64(runs)))
	size := k.Layout().RecordSize
	var list []*chunker.Run
	for r := range runs {
		keys := make([]uint64, records)
		for i := range keys {
			switch dist {
			case "uniform":
				keys[i] = rng.Uint64()
			case "few":
				keys[i] = rng.Uint64() % 16
			case "apart":
				keys[i] = uint64(r)<<56 | rng.Uint64()>>8
			}
		}
		slices.Sort(keys)
		recs := wordBytes(keys)
		if size != 8 {
			recs = make([]byte, records*size)
			for i, key := range keys {
				for b := range 8 {
					recs[i*size+b] = byte(key >> (56 - 8*b))
				}
				recs[(i+1)*size-1] = byte(i)
			}
		}
		list = append(list, chunker.MemoryRun(k, recs, (1<<20)/size))
	}
	return list
}

func benchmarkMerge(b *testing.B, l format.Layout, runs, workers int, dist string, totalBytes int) {
	k := keyer(b, l)
	list := sortedRuns(k, runs, totalBytes/runs/l.RecordSize, dist)
	b.SetBytes(int64(totalBytes))
	discard := device.BlockWriterFunc(func(context.Context, int64, []byte) error { return nil })
	for b.Loop() {
		if _, err := Merge(b.Context(), Options{Keyer: k, Workers: workers, Limit: -1}, list, discard); err != nil {
			b.Fatal(err)
		}
	}
	records := float64(totalBytes/l.RecordSize) * float64(b.N)
	b.ReportMetric(records/b.Elapsed().Seconds()/1e6, "Mkeys/s")
}

func BenchmarkMerge(b *testing.B) {
	u64 := bare(b, "u64")
	for _, runs := range []int{2, 4, 16, 64, 256} {
		b.Run(fmt.Sprintf("runs=%d/key=u64/workers=1/dist=uniform", runs), func(b *testing.B) {
			benchmarkMerge(b, u64, runs, 1, "uniform", 128<<20)
		})
	}
	for _, dist := range []string{"few", "apart"} {
		b.Run("runs=16/key=u64/workers=1/dist="+dist, func(b *testing.B) {
			benchmarkMerge(b, u64, 16, 1, dist, 128<<20)
		})
	}
	b.Run("runs=16/key=u64/workers=2/dist=uniform", func(b *testing.B) {
		benchmarkMerge(b, u64, 16, 2, "uniform", 128<<20)
	})
	for _, l := range []format.Layout{
		bare(b, "u32"), bare(b, "f64"), bare(b, "u128"), fields(b, 16, "0:u64be"), fields(b, 100, "0:bytes10"), fields(b, 1000, "0:bytes10"),
	} {
		b.Run(fmt.Sprintf("runs=16/key=%v/workers=1/dist=uniform", l), func(b *testing.B) {
			benchmarkMerge(b, l, 16, 1, "uniform", 128<<20/l.RecordSize/16*16*l.RecordSize)
		})
	}
}
