package merge

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/merge/output"
)

// sortedRuns makes runs of records whose first 8 bytes have the given distribution.
func sortedRuns(k *format.Keyer, runs, records int, dist string) []*spill.Run {
	rng := rand.New(rand.NewPCG(1, uint64(runs)))
	var list []*spill.Run
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
		recs := recordsOf(k, keys)
		list = append(list, spill.MemoryRun(k, recs, (1<<20)/k.Layout().RecordSize))
	}
	return list
}

// recordsOf makes records that begin with the given keys, most significant byte first unless the
// key is a number.
func recordsOf(k *format.Keyer, keys []uint64) []byte {
	size := k.Layout().RecordSize
	switch {
	case isNative(k):
		return arena.ByteView(keys)
	case isWord(k):
		for i := range keys {
			keys[i] >>= 64 - 8*size
		}
		recs := make([]byte, len(keys)*size)
		k.Records(recs, keys)
		return recs
	}
	recs := make([]byte, len(keys)*size)
	for i, key := range keys {
		binary.BigEndian.PutUint64(recs[i*size:], key)
	}
	return recs
}

func benchmarkMerge(b *testing.B, l format.Layout, runs, workers int, dist string, totalBytes int) {
	k := formattest.KeyerOf(b, l)
	list := sortedRuns(k, runs, totalBytes/runs/l.RecordSize, dist)
	b.ResetTimer()
	b.SetBytes(int64(totalBytes))
	discard := device.BlockWriterFunc(func(context.Context, int64, []byte) error { return nil })
	opt := Options{Keyer: k, Workers: cmp.Or(workers, runtime.GOMAXPROCS(0)), BlockBytes: 1 << 20, Limit: -1}
	for b.Loop() {
		if err := Merge(b.Context(), opt, list, discard); err != nil {
			b.Fatal(err)
		}
	}
	records := float64(totalBytes/l.RecordSize) * float64(b.N)
	b.ReportMetric(records/b.Elapsed().Seconds()/1e6, "Mkeys/s")
}

func BenchmarkMerge(b *testing.B) {
	u64 := formattest.Bare(b, "u64")
	for _, runs := range []int{2, 16, 256} {
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
		formattest.Bare(b, "u32"), formattest.Bare(b, "f64"), formattest.Bare(b, "u128be"),
		formattest.Fields(b, 16, "0:u64be"), formattest.Fields(b, 100, "0:bytes10"), formattest.Fields(b, 1000, "0:bytes10"),
	} {
		b.Run(fmt.Sprintf("runs=16/key=%v/workers=1/dist=uniform", l), func(b *testing.B) {
			benchmarkMerge(b, l, 16, 1, "uniform", 128<<20/l.RecordSize/16*16*l.RecordSize)
		})
	}
}

func BenchmarkUnique(b *testing.B) {
	discard := device.BlockWriterFunc(func(context.Context, int64, []byte) error { return nil })
	for _, dist := range []string{"uniform", "few"} {
		b.Run("key=u64/dist="+dist, func(b *testing.B) {
			k := formattest.KeyerOf(b, formattest.Bare(b, "u64"))
			recs := make([]byte, 1<<20)
			run := sortedRuns(k, 1, len(recs)/8, dist)[0]
			if err := (&spill.Reader{Run: run}).ReadRecords(recs, 0); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(recs)))
			for b.Loop() {
				if err := output.NewGroups(k, output.GroupForm{}, discard).WriteBlock(b.Context(), 0, recs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
