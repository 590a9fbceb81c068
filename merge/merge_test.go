package merge

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// sortedParts sorts each part. It also returns the expected result of their merge.
func sortedParts(k *format.Keyer, parts [][]byte) (runs [][]byte, want []byte) {
	for _, p := range parts {
		runs = append(runs, formattest.Sorted(k, p))
	}
	return runs, formattest.Sorted(k, bytes.Join(parts, nil))
}

func memoryRuns(k *format.Keyer, parts [][]byte, blockRecords int) []*spill.Run {
	var runs []*spill.Run
	for _, p := range parts {
		runs = append(runs, spill.MemoryRun(k, p, blockRecords))
	}
	return runs
}

// newCollector returns a writer that checks the blocks of a merge. None is larger than a limit.
func newCollector(k *format.Keyer, blockBytes int) *devicetest.Collector {
	return &devicetest.Collector{Size: k.Layout().RecordSize, Max: blockBytes}
}

// shapes are distributions of keys that a merge must handle.
var shapes = []struct {
	name string
	fill func(rng *rand.Rand, run, i, n int) uint64
}{
	{"uniform", func(rng *rand.Rand, _, _, _ int) uint64 { return rng.Uint64() }},
	{"equal", func(*rand.Rand, int, int, int) uint64 { return ^uint64(0) }},
	{"two", func(rng *rand.Rand, _, _, _ int) uint64 { return -(rng.Uint64() & 1) }},
	{"apart", func(_ *rand.Rand, run, i, n int) uint64 { return uint64(run*n+i) * 0x0001000100010001 }},
	{"zipf", func(rng *rand.Rand, _, _, _ int) uint64 { return 1 << rng.IntN(64) >> rng.IntN(64) }},
	{"one run first", func(rng *rand.Rand, run, _, _ int) uint64 { return rng.Uint64() >> (run % 2 * 40) }},
}

func layouts(t testing.TB) (all []format.Layout) {
	for _, name := range []string{"u64", "i32be", "f64", "u8", "u128", "bytes3"} {
		all = append(all, formattest.Bare(t, name))
	}
	return append(all,
		formattest.Fields(t, 7, "3:u16be:desc", "0:i8"),
		formattest.Fields(t, 16, "0:u64"),
		formattest.Fields(t, 21, "0:bytes8", "8:bytes5:desc"), // a wide key, whose prefix often ties
		formattest.Fields(t, 100, "0:bytes10"),
	)
}

// parts makes k inputs of up to n records. The bytes of a record that are not part of the key
// hold its original position, so that an unstable merge shows.
func parts(l format.Layout, shape func(*rand.Rand, int, int, int) uint64, k, n int, rng *rand.Rand) [][]byte {
	out := make([][]byte, k)
	serial := uint32(0)
	for r := range out {
		records := n
		if r%3 == 1 {
			records = rng.IntN(n + 1)
		}
		if r%7 == 5 {
			records = 0
		}
		for i := range records {
			rec := make([]byte, l.RecordSize)
			for at := 0; at < len(rec); at += 8 {
				var word [8]byte
				binary.BigEndian.PutUint64(word[:], shape(rng, r, i, n))
				copy(rec[at:], word[:])
			}
			if l.RecordSize >= 16 && !l.IsBare() {
				binary.BigEndian.PutUint32(rec[l.RecordSize-4:], serial)
			}
			serial++
			out[r] = append(out[r], rec...)
		}
	}
	return out
}

type merger func(ctx context.Context, opt Options, runs [][]byte, rng *rand.Rand, w *devicetest.Collector) error

// mergers are the ways to merge sorted inputs: of runs, of streams, and of stored chunks.
var mergers = map[string]merger{
	"runs": func(ctx context.Context, opt Options, runs [][]byte, rng *rand.Rand, w *devicetest.Collector) error {
		return Merge(ctx, opt, memoryRuns(opt.Keyer, runs, 1+rng.IntN(200)), w)
	},
	"streams": func(ctx context.Context, opt Options, runs [][]byte, _ *rand.Rand, w *devicetest.Collector) error {
		return Streams(ctx, opt, readers(runs), w)
	},
	"stores": func(ctx context.Context, opt Options, runs [][]byte, rng *rand.Rand, w *devicetest.Collector) error {
		opt.CheckOrder = false // a chunk is sorted
		return Stores(ctx, opt, storedChunks(opt.Keyer, runs, rng), w)
	},
}

func TestMergeEqualsStableSort(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for name, merge := range mergers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, l := range layouts(t) {
				k := formattest.KeyerOf(t, l)
				for _, shape := range shapes {
					for _, fanIn := range []int{1, 2, 3, 7, 16, 100} {
						rng := rand.New(rand.NewPCG(seed, uint64(fanIn)))
						runs, want := sortedParts(k, parts(l, shape.fill, fanIn, 1+2000/fanIn, rng))
						opt := Options{
							Keyer: k, Workers: 1 + rng.IntN(5), BlockBytes: l.RecordSize * (1 + rng.IntN(300)),
							Limit: -1, CheckOrder: true,
						}
						out := newCollector(k, opt.BlockBytes)
						if err := merge(t.Context(), opt, runs, rng, out); err != nil {
							t.Fatalf("%v/%s/runs=%d: %v", l, shape.name, fanIn, err)
						}
						if got := out.Written(t); !bytes.Equal(got, want) {
							t.Fatalf("%v/%s/runs=%d, %d workers: wrong order", l, shape.name, fanIn, opt.Workers)
						}
					}
				}
			}
		})
	}
}

func TestLimits(t *testing.T) {
	for name, merge := range mergers {
		for _, typ := range []string{"u64", "f64"} {
			k := formattest.KeyerOf(t, formattest.Bare(t, typ))
			rng := rand.New(rand.NewPCG(1, 2))
			runs, want := sortedParts(k, parts(formattest.Bare(t, typ), shapes[0].fill, 5, 2000, rng))
			for _, limit := range []int64{0, 1, 500, 3000, 1 << 40} {
				out := newCollector(k, 800)
				opt := Options{Keyer: k, Workers: 2, BlockBytes: 800, Limit: limit}
				if err := merge(t.Context(), opt, runs, rng, out); err != nil {
					t.Fatal(err)
				}
				if got := out.Written(t); !bytes.Equal(got, want[:8*min(limit, int64(len(want)/8))]) {
					t.Errorf("%s of %s, limit %d: %d records, or wrong ones", name, typ, limit, len(got)/8)
				}
			}
		}
	}
}

func TestMergeLimit(t *testing.T) {
	l := formattest.Fields(t, 16, "0:u64")
	k := formattest.KeyerOf(t, l)
	rng := rand.New(rand.NewPCG(1, 1))
	runs, want := sortedParts(k, parts(l, shapes[0].fill, 9, 3000, rng))
	total := int64(len(want) / 16)
	for _, limit := range []int64{0, 1, 99, 100, 101, total - 1, total, total + 1} {
		opt := Options{Keyer: k, Workers: 3, BlockBytes: 1600, Limit: limit}
		out := newCollector(k, opt.BlockBytes)
		var read atomic.Int64 // bytes
		list := make([]*spill.Run, len(runs))
		for i, recs := range runs {
			var err error
			from := spill.Sorted{Records: int64(len(recs) / 16), Seen: func([]byte) {}}
			from.ReadRecords = func(p []byte, first int64) error {
				read.Add(int64(copy(p, recs[first*16:])))
				return nil
			}
			if list[i], err = from.Run(k, 50, i%2 == 0); err != nil {
				t.Fatal(err)
			}
		}
		read.Store(0)
		if err := Merge(context.Background(), opt, list, out); err != nil {
			t.Fatal(err)
		}
		if got := out.Written(t); !bytes.Equal(got, want[:16*min(limit, total)]) {
			t.Fatalf("limit %d: %d records, or wrong ones", limit, len(got)/16)
		}
		if limit < 200 && read.Load() > int64(len(want))/4 {
			t.Errorf("limit %d: %d of %d bytes were read", limit, read.Load(), len(want))
		}
	}
}

func TestMergeNoticesDisorder(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Bare(t, "u32be"))
	for _, at := range []int{1, 2, 9, 10, 11, 57, 99} {
		recs := make([]byte, 400)
		for i := range 100 {
			binary.BigEndian.PutUint32(recs[4*i:], uint32(1000+i))
		}
		binary.BigEndian.PutUint32(recs[4*at:], 3)
		runs := memoryRuns(k, [][]byte{make([]byte, 40), recs}, 10)
		opt := Options{Keyer: k, Workers: 2, BlockBytes: 1 << 20, Limit: -1, CheckOrder: true}
		err := Merge(context.Background(), opt, runs, newCollector(k, 1<<20))
		var disorder *DisorderError
		if !errors.As(err, &disorder) || disorder.Input != 1 || disorder.Record != int64(at) ||
			string(disorder.Key) != "\x00\x00\x00\x03" || !bytes.Equal(disorder.Before, recs[4*at-4:4*at]) {
			t.Errorf("record %d of input 1 is out of order; the error is %v", at, err)
		}
	}
}

// TestForecastCountsBlocks checks the order of blocks of a forecast, and that each has its index within its run.
func TestForecastCountsBlocks(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Bare(t, "u8"))
	runs := memoryRuns(k, [][]byte{{1, 4, 6}, {2, 3, 5, 7}}, 1)
	f, err := newForecast(runs, 2)
	if err != nil {
		t.Fatal(err)
	}
	for rank, want := range [][2]int{{0, 0}, {1, 0}, {1, 1}, {0, 1}, {1, 2}, {0, 2}, {1, 3}} {
		p, err := f.place(rank)
		if err != nil || [2]int{p.run, p.index} != want {
			t.Fatalf("place %d is %+v, error %v, want %d", rank, p, err, want)
		}
	}
}

func TestMergeWriterError(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Bare(t, "u64"))
	runs, _ := sortedParts(k, parts(formattest.Bare(t, "u64"), shapes[0].fill, 5, 5000, rand.New(rand.NewPCG(3, 4))))
	full := errors.New("disk full")
	for _, after := range []int64{0, 1, 5000, 15000} {
		w := device.BlockWriterFunc(func(_ context.Context, first int64, recs []byte) error {
			if first+int64(len(recs)/8) > after {
				return full
			}
			return nil
		})
		opt := Options{Keyer: k, Workers: 3, BlockBytes: 800, Limit: -1}
		err := Merge(context.Background(), opt, memoryRuns(k, runs, 100), w)
		if !errors.Is(err, full) {
			t.Errorf("the writer failed after record %d; the merge says %v", after, err)
		}
	}
}

func TestMergeWithinMemory(t *testing.T) {
	l := formattest.Fields(t, 16, "0:u64")
	k := formattest.KeyerOf(t, l)
	runs, want := sortedParts(k, parts(l, shapes[0].fill, 20, 1000, rand.New(rand.NewPCG(5, 6))))
	blocks := memoryRuns(k, runs, 64)
	opt := Options{Keyer: k, Workers: 4, BlockBytes: 1024, Limit: -1}
	for _, workers := range []int{1, 2, 4} {
		opt.MemoryBytes = int64(20+workers)*plan.MergeBuffer(k, 64) + int64(workers)*opt.workerBytes()
		divided := opt
		buffers, _, err := divided.divide(20, 64)
		if err != nil || divided.Workers != workers {
			t.Fatalf("memory for %d workers gives %d buffers to %d, %v", workers, buffers, divided.Workers, err)
		}
		used := int64(buffers)*plan.MergeBuffer(k, 64) + int64(workers)*opt.workerBytes()
		if used > opt.MemoryBytes {
			t.Errorf("%d bytes of buffers in %d", used, opt.MemoryBytes)
		}
		out := newCollector(k, opt.BlockBytes)
		if err := Merge(context.Background(), opt, blocks, out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Written(t), want) {
			t.Fatal("wrong order")
		}
	}
	opt.MemoryBytes = 20 * plan.MergeBuffer(k, 64)
	if err := Merge(context.Background(), opt, blocks, newCollector(k, 1024)); err == nil {
		t.Error("a merge in less memory than it needs succeeded")
	}
}

func TestMaxFanInIsEnough(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Fields(t, 100, "0:bytes10"))
	for _, memory := range []int64{1 << 20, 10 << 20, 1 << 30} {
		n := plan.MaxFanIn(k, 64<<10, 3, memory)
		opt := Options{Keyer: k, Workers: 3, BlockBytes: 65500, MemoryBytes: memory}
		if _, _, err := opt.divide(n, 655); err != nil || opt.Workers != 3 {
			t.Errorf("%d bytes: a merge of MaxFanIn %d runs gets %d workers, %v", memory, n, opt.Workers, err)
		}
	}
}
