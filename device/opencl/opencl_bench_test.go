//go:build opencl && cgo && linux

package opencl

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// benchSizes returns log2 of the number of records for each benchmark. Set EXTSORT_BENCH_LOG2=n
// for devices other than PoCL.
func benchSizes() []int {
	if n, err := strconv.Atoi(os.Getenv("EXTSORT_BENCH_LOG2")); err == nil {
		return []int{n}
	}
	return []int{12, 17}
}

// discard ignores all blocks, so that a benchmark measures the link and not the host's memory.
var discard = device.BlockWriterFunc(func(context.Context, int64, []byte) error { return nil })

// BenchmarkSort times Load, Sort and Store with a source in memory and no output.
func BenchmarkSort(b *testing.B) {
	for _, name := range []string{"u32", "u64", "f64be", "rec16", "gensort"} {
		for _, log2 := range benchSizes() {
			for _, dist := range []string{"uniform", "zipf", "equal"} {
				layout := benchLayouts[name]
				b.Run(fmt.Sprintf("device=opencl/key=%s/n=%s/dist=%s", name, countName(log2), dist), func(b *testing.B) {
					recs := devicetest.Distributions[dist](layout, 1<<log2, rand.New(rand.NewPCG(1, 2)))
					benchmarkSort(b, layout, recs)
				})
			}
		}
	}
}

var benchLayouts = map[string]format.Layout{
	"u32":     format.Bare(format.Type{Size: 4}),
	"u64":     format.Bare(format.Type{Size: 8}),
	"f64be":   format.Bare(format.Type{Kind: format.Float, Size: 8, BigEndian: true}),
	"rec16":   {RecordSize: 16, Key: []format.Field{{Type: format.Type{Size: 8}}}},
	"gensort": {RecordSize: 100, Key: []format.Field{{Type: format.Type{Kind: format.Bytes, Size: 10}}}},
}

func countName(log2 int) string {
	switch {
	case log2 >= 20:
		return fmt.Sprintf("%dMi", 1<<(log2-20))
	case log2 >= 10:
		return fmt.Sprintf("%dKi", 1<<(log2-10))
	}
	return strconv.Itoa(1 << log2)
}

func benchmarkSort(b *testing.B, layout format.Layout, recs []byte) {
	d := open(b, Options{})
	size := layout.RecordSize
	c := newChunk(b, d, device.ChunkOptions{Keyer: formattest.KeyerOf(b, layout), Records: int64(len(recs) / size),
		MemoryBytes: 256 << 20, BlockBytes: 4 << 20, Workers: runtime.GOMAXPROCS(0)})
	oneSort(b, c, recs, size) // builds kernels and pins the ring
	b.SetBytes(int64(len(recs)))
	b.ResetTimer()
	for range b.N {
		oneSort(b, c, recs, size)
	}
}

func oneSort(b *testing.B, c device.Chunk, recs []byte, size int) {
	ctx := context.Background()
	if _, err := c.Load(ctx, &devicetest.Source{Recs: recs, Size: size}); err != nil {
		b.Fatal(err)
	}
	if err := c.Sort(ctx); err != nil {
		b.Fatal(err)
	}
	if err := c.Store(ctx, -1, false, discard); err != nil {
		b.Fatal(err)
	}
}
