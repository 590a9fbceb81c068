package cpu

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// benchSize is the size of the largest benchmarks: log2 of the number of 64-bit keys. The floors
// of the project are for 27, run as
//
//	go test -run - -bench Sort -benchtime 5x ./device/cpu -args -log2n 27
var benchSize = flag.Int("log2n", 20, "log2 of the number of 64-bit keys in the largest benchmarks")

var benchDistributions = []string{
	"uniform", "zipf", "few", "equal", "sorted", "reversed", "nearlySorted", "low", "exponential",
}

// BenchmarkSort sorts from one slice to another.
func BenchmarkSort(b *testing.B) {
	n := 1 << *benchSize
	if testing.Short() {
		n >>= 4
	}
	for _, layout := range []struct {
		name  string
		l     format.Layout
		count int
	}{
		{"u64", format.Bare(format.Type{Kind: format.Unsigned, Size: 8}), n},
		{"u32", format.Bare(format.Type{Kind: format.Unsigned, Size: 4}), 2 * n},
		{"f64desc", format.Bare(format.Type{Kind: format.Float, Size: 8}).Reverse(), n},
		{"rec16", recordsOf(16, format.Type{Kind: format.Unsigned, Size: 8}), n / 2},
		{"gensort", recordsOf(100, format.Type{Kind: format.Bytes, Size: 10}), n * 8 / 100},
	} {
		for _, dist := range benchDistributions {
			b.Run(fmt.Sprintf("device=cpu/key=%s/n=%s/dist=%s", layout.name, quantity(layout.count), dist), func(b *testing.B) {
				benchmarkSort(b, layout.l, layout.count, dist)
			})
		}
	}
}

// recordsOf returns the layout of records of the given size with the key at their start.
func recordsOf(size int, key format.Type) format.Layout {
	return format.Layout{RecordSize: size, Key: []format.Field{{Type: key}}}
}

func quantity(n int) string {
	for _, unit := range []struct {
		size int
		name string
	}{{1 << 20, "Mi"}, {1 << 10, "Ki"}} {
		if n >= unit.size {
			return fmt.Sprintf("%d%s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprint(n)
}

func benchmarkSort(b *testing.B, l format.Layout, n int, dist string) {
	recs := benchData(l, n, dist)
	k := formattest.KeyerOf(b, l)
	ctx := context.Background()
	chunk, err := New().NewChunk(ctx, device.ChunkOptions{
		Keyer: k, Records: int64(n), BlockBytes: 1 << 20, Sample: devicetest.Sampled(l, recs, 65536),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer chunk.Close()
	sorted := make([]byte, len(recs))
	for i := 0; i < len(sorted); i += 4096 {
		sorted[i] = 1 // touched here, so that the loop does not measure page faults
	}
	w := device.BlockWriterFunc(func(_ context.Context, first int64, block []byte) error {
		copy(sorted[first*int64(l.RecordSize):], block)
		return nil
	})
	var wall, load, store []float64
	b.SetBytes(int64(len(recs)))
	for b.Loop() {
		began, start := time.Now(), cpuSeconds()
		if _, err := chunk.Load(ctx, &devicetest.Source{Recs: recs, Size: l.RecordSize}); err != nil {
			b.Fatal(err)
		}
		if err := chunk.Sort(ctx); err != nil {
			b.Fatal(err)
		}
		loaded := cpuSeconds()
		if err := chunk.Store(ctx, -1, false, w); err != nil {
			b.Fatal(err)
		}
		wall = append(wall, time.Since(began).Seconds())
		load, store = append(load, loaded-start), append(store, cpuSeconds()-loaded)
	}
	b.ReportMetric(float64(n)/1e6/median(wall), "Mkeys/s")
	b.ReportMetric(1e9*slices.Min(load)/float64(n), "load+sort-cpu-ns/key")
	b.ReportMetric(1e9*slices.Min(store)/float64(n), "store-cpu-ns/key")
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

var benchCache struct {
	sync.Mutex
	name string
	recs []byte
}

// benchData returns the data of a benchmark. It caches the data, because go test calls a
// benchmark more than once.
func benchData(l format.Layout, n int, dist string) []byte {
	benchCache.Lock()
	defer benchCache.Unlock()
	if name := fmt.Sprint(l, n, dist); benchCache.name != name {
		benchCache.recs = nil
		benchCache.recs = devicetest.Distributions[dist](l, n, rand.New(rand.NewPCG(1, 2)))
		benchCache.name = name
	}
	return benchCache.recs
}

// BenchmarkTiny measures sorts of the smallest inputs, which must not pay for preparations that
// only large inputs need. The size is known (a file) or unknown (a pipe, whose chunk is much
// larger).
func BenchmarkTiny(b *testing.B) {
	l := format.Bare(format.Type{Kind: format.Unsigned, Size: 8})
	recs := devicetest.Distributions["uniform"](l, 128, rand.New(rand.NewPCG(1, 2)))
	k := formattest.KeyerOf(b, l)
	for name, units := range map[string][]int{"file": nil, "pipe": {128}} {
		b.Run("device=cpu/key=u64/n=128/source="+name, func(b *testing.B) {
			opt := device.ChunkOptions{Keyer: k, Records: 128, BlockBytes: 1 << 20}
			if units != nil {
				opt.Records = New().MaxRecords(opt, 1<<30)
			}
			b.SetBytes(int64(len(recs)))
			for b.Loop() {
				if err := sortTiny(opt, &devicetest.Source{Recs: recs, Size: 8, Units: units}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func sortTiny(opt device.ChunkOptions, src device.Source) error {
	ctx := context.Background()
	chunk, err := New().NewChunk(ctx, opt)
	if err != nil {
		return err
	}
	defer chunk.Close()
	if _, err := chunk.Load(ctx, src); err != nil {
		return err
	}
	if err := chunk.Sort(ctx); err != nil {
		return err
	}
	return chunk.Store(ctx, -1, false, device.BlockWriterFunc(func(context.Context, int64, []byte) error { return nil }))
}
