package cpu

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// TestConformance simulates a tiny cache, so that even a few records fill many buckets and some
// buckets must be split.
func TestConformance(t *testing.T) {
	inCache(t, 16<<10)
	devicetest.Run(t, func(testing.TB) device.Device { return New() })
}

func inCache(t *testing.T, bytes int) {
	before := leafBytes
	leafBytes = func() int { return bytes }
	t.Cleanup(func() { leafBytes = before })
}

// TestLarge sorts chunks that are much larger than the cache of this machine.
func TestLarge(t *testing.T) {
	dists := []string{"zipf", "uniform", "outlier"}
	if testing.Short() {
		dists = dists[:1]
	}
	for name, l := range map[string]format.Layout{
		"u32":   format.Bare(format.Type{Kind: format.Unsigned, Size: 4}),
		"u64":   format.Bare(format.Type{Kind: format.Unsigned, Size: 8}),
		"rec16": {RecordSize: 16, Key: []format.Field{{Offset: 4, Type: format.Type{Kind: format.Signed, Size: 4}}}},
	} {
		for _, dist := range dists {
			t.Run(name+"/"+dist, func(t *testing.T) {
				recs := devicetest.Distributions[dist](l, 5*leafBytes()/4, rand.New(rand.NewPCG(3, 4)))
				devicetest.Check(t, New(), devicetest.Case{Layout: l, Recs: recs, Sample: devicetest.Sampled(l, recs, 1000),
					Limit: -1})
			})
		}
	}
}

// TestFewBlocks takes most of the free blocks before Sort, so that buckets are split into few
// buckets at a time.
func TestFewBlocks(t *testing.T) {
	inCache(t, 64<<10)
	dists := []string{"exponential", "zipf", "uniform", "outlier"}
	if testing.Short() {
		dists = dists[:2]
	}
	for name, l := range map[string]format.Layout{
		"u64":    formattest.Bare(t, "u64"),
		"wide40": {RecordSize: 44, Key: []format.Field{{Offset: 2, Type: format.Type{Kind: format.Bytes, Size: 40}}}},
		"u128":   formattest.Bare(t, "u128"),
		"pair":   {RecordSize: 8, Key: []format.Field{{Offset: 4, Type: format.Type{Kind: format.Unsigned, Size: 4}}}},
	} {
		for _, dist := range dists {
			t.Run(name+"/"+dist, func(t *testing.T) { testFewBlocks(t, l, dist) })
		}
	}
}

func testFewBlocks(t *testing.T, l format.Layout, dist string) {
	const workers = 3
	recs := devicetest.Distributions[dist](l, 16*leafBytes()/8, rand.New(rand.NewPCG(1, 2)))
	made := openChunk(t, device.ChunkOptions{
		Keyer: formattest.KeyerOf(t, l), Records: int64(len(recs) / l.RecordSize), BlockBytes: 64 << 10, Workers: workers,
		Sample: []uint64{0, ^uint64(0)},
	})
	if _, err := made.Load(t.Context(), &devicetest.Source{Recs: recs, Size: l.RecordSize}); err != nil {
		t.Fatal(err)
	}
	const left = 8 * workers
	switch c := made.(type) {
	case *elementPipeline[uint64]:
		leave(c.pool, left)
	case *wholePipeline[[2]uint64]:
		leave(c.pool, left)
	}
	if !bytes.Equal(sortAndStore(t, made, l.RecordSize), devicetest.Sorted(l, recs)) {
		t.Error("not in order")
	}
}

// leave takes free blocks of a pool until the given number is left.
func leave[E arena.Word](p *pool.Pool[E], blocks int64) {
	for p.Available() > blocks {
		p.Take(0, 1)
	}
}

// TestBlocksSuffice checks the number of blocks if every worker leaves a nearly empty block in
// every bucket.
func TestBlocksSuffice(t *testing.T) {
	for _, l := range []format.Layout{formattest.Bare(t, "u8"), formattest.Bare(t, "u32"), formattest.Bare(t, "u64"),
		formattest.Bare(t, "bytes12"), formattest.Bare(t, "bytes100")} {
		k := formattest.KeyerOf(t, l)
		for records := int64(1); records < 1<<34; records = records*5/4 + 1 {
			for _, workers := range []int{1, 2, 7, 16, 64, 256} {
				s := newSizes(device.ChunkOptions{Keyer: k, BlockBytes: 1 << 20, Workers: workers}, records)
				held := int64(s.blocks) * int64(s.blockElems)
				if spared := int64(s.workers*s.bucketsFor(records)) * int64(s.blockElems-1); held < records+spared {
					t.Fatalf("%v, %d records, %d workers: blocks for %d elements, %d of which may stay empty", l, records,
						workers, held, spared)
				}
			}
		}
	}
}

// TestSegmentsSuffice checks the number of segments for records that are moved whole and read
// four times. All workers must be able to read everything, except in a small chunk with many
// workers.
func TestSegmentsSuffice(t *testing.T) {
	for _, l := range []format.Layout{{RecordSize: 8, Key: formattest.Bare(t, "u32").Key},
		{RecordSize: 12, Key: formattest.Bare(t, "u64").Key}, formattest.Bare(t, "u128")} {
		k := formattest.KeyerOf(t, l)
		for records := int64(1 << 22); records < 1<<32; records = records*5/4 + 1 {
			for _, workers := range []int{1, 2, 16} {
				s := newSizes(device.ChunkOptions{Keyer: k, BlockBytes: 1 << 20, Workers: workers, SourceRecords: 4 * records},
					records)
				if units := 4 * records / int64(s.unitRecords); int64(s.maxSegments()) < units+int64(3*workers) {
					t.Fatalf("%v, %d records, %d workers: %d segments, and %d units", l, records, workers, s.maxSegments(), units)
				}
				if got, most := int64(s.orderBytes()), records*int64(s.elementBytes)/9+1<<20; got > most {
					t.Fatalf("%v, %d records, %d workers: %d bytes for the order, want at most %d", l, records, workers, got, most)
				}
			}
		}
	}
}

// TestFewerRecordsFit checks that a chunk for some number of records also fits fewer records.
func TestFewerRecordsFit(t *testing.T) {
	if testing.Short() {
		t.Skip("a search through sizes")
	}
	for _, name := range []string{"u8", "u32", "u64", "u128", "bytes3", "bytes12", "bytes100"} {
		k := formattest.KeyerOf(t, formattest.Bare(t, name))
		for _, workers := range []int{1, 3, 16, 64} {
			for _, memory := range []int64{1 << 20, 7 << 20, 53114322, 64 << 20} {
				opt := device.ChunkOptions{Keyer: k, BlockBytes: 256 << 10, Workers: workers, MemoryBytes: memory}
				// With 16 bytes per record, that is four times as many records as fit.
				opt.SourceRecords = []int64{0, memory / 4}[workers%2]
				most := New().MaxRecords(opt, memory)
				for opt.Records = most; opt.Records > most/4; opt.Records = opt.Records * 31 / 32 {
					c, err := New().NewChunk(t.Context(), opt)
					if err != nil {
						t.Fatalf("%s, %d workers, %d bytes, where %d records fit: %v", name, workers, memory, most, err)
					}
					if got := allocated(t, c); got > memory {
						t.Errorf("%s, %d workers: %d bytes are allocated, %d are allowed", name, workers, got, memory)
					}
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

// TestMemory compares the memory of chunks with the memory that MaxRecords counts.
func TestMemory(t *testing.T) {
	ctx := context.Background()
	for _, l := range []format.Layout{
		format.Bare(format.Type{Kind: format.Unsigned, Size: 1}), format.Bare(format.Type{Kind: format.Unsigned, Size: 4}),
		format.Bare(format.Type{Kind: format.Unsigned, Size: 8}), format.Whole(16), format.Whole(100),
		{RecordSize: 8, Key: []format.Field{{Type: format.Type{Kind: format.Unsigned, Size: 4}}}},
		{RecordSize: 1 << 20, Key: []format.Field{{Type: format.Type{Kind: format.Bytes, Size: 10}}}},
	} {
		k := formattest.KeyerOf(t, l)
		for _, memory := range []int64{1 << 20, 10 << 20, 100 << 20, 1 << 30, 100 << 30} {
			for _, workers := range []int{1, 2, 64} {
				opt := device.ChunkOptions{Keyer: k, BlockBytes: 1 << 20, Workers: workers, MemoryBytes: memory}
				opt.Records = New().MaxRecords(opt, memory)
				if opt.Records == 0 || memory > 1<<30 {
					continue // too much for some machines, although it could be computed
				}
				made, err := New().NewChunk(ctx, opt)
				if err != nil {
					t.Fatalf("%v, %d bytes: %v", l, memory, err)
				}
				if got := allocated(t, made); got > memory {
					t.Errorf("%v, %d workers: %d bytes are allocated, %d are allowed", l, workers, got, memory)
				}
				if err := made.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// allocated creates all workers of a chunk and returns the total memory.
func allocated(t *testing.T, made device.Chunk) int64 {
	switch c := made.(type) {
	case *elementPipeline[uint32]:
		return allocatedBy(t, c)
	case *elementPipeline[uint64]: // or a wholePipeline[uint64]
		return allocatedBy(t, c)
	case *wholePipeline[[2]uint64]:
		return allocatedBy(t, c)
	case *histogram:
		return allocatedByHistogram(t, c)
	}
	t.Fatalf("unknown chunk %T", made)
	return 0
}

func allocatedByHistogram(t *testing.T, h *histogram) int64 {
	if err := h.makeWorkers(h.sizes.workers); err != nil {
		t.Fatal(err)
	}
	total := len(h.values) + 8*len(h.ends)
	for _, w := range h.workers {
		total += len(w.memory.Bytes())
	}
	return int64(total)
}

func allocatedBy[K radix.Element, E arena.Word](t *testing.T, c *pipeline[K, E]) int64 {
	if err := c.makeWorkers(len(c.workers)); err != nil {
		t.Fatal(err)
	}
	total := len(c.pool.Memory.Bytes()) + 4*len(c.pool.Next) + 4*len(c.pool.Used)
	for _, w := range c.workers {
		total += len(w.memory.Bytes()) + radix.CountsBytes
	}
	if c.loaded != nil {
		total += len(c.loaded.Bytes())
	}
	if c.order != nil {
		total += len(c.order.table.Bytes())
	}
	return int64(total)
}

// FuzzSort sorts random bytes as records of a random layout.
func FuzzSort(f *testing.F) {
	f.Add([]byte{7, 2, 3, 1, 0, 1}, []byte("some records of seven bytes, none of them in order"), uint8(3))
	f.Add([]byte{8, 0, 0, 0, 3, 0}, make([]byte, 4096), uint8(1))
	f.Add([]byte{40, 3, 1, 0, 39, 0},
		[]byte("a common prefix, a common prefix, and a common prefix, and another one as well"), uint8(9))
	f.Fuzz(func(t *testing.T, shape, recs []byte, workers uint8) {
		l := fuzzLayout(shape)
		if l.Validate() != nil {
			t.Skip()
		}
		for len(recs) > 0 && len(recs) < 32*l.RecordSize {
			recs = append(recs, recs...)
		}
		recs = recs[:len(recs)/l.RecordSize*l.RecordSize]
		devicetest.Check(t, New(), devicetest.Case{
			Layout: l, Recs: recs, Sample: devicetest.Sampled(l, recs, 10), Workers: 1 + int(workers%4), Limit: -1,
		})
	})
}

// fuzzLayout decodes a record size, and fields of four bytes each: kind and direction, offset,
// size, and other properties.
func fuzzLayout(shape []byte) format.Layout {
	if len(shape) == 0 {
		return format.Layout{}
	}
	l := format.Layout{RecordSize: int(shape[0])}
	for s := shape[1:]; len(s) >= 4; s = s[4:] {
		l.Key = append(l.Key, fuzzField(s[0], s[1], s[2], s[3]))
	}
	return l
}

// fuzzField returns a field, which may be invalid.
func fuzzField(kind, offset, size, rest byte) format.Field {
	kinds := []format.Kind{format.Unsigned, format.Signed, format.Float, format.Bytes}
	if rest&2 != 0 {
		kinds = []format.Kind{format.Brain, format.Extended, format.UCS, format.Float}
	}

	f := format.Field{
		Offset:  int(offset),
		Desc:    kind&4 != 0,
		NaN:     format.NaNOrder(rest >> 2 % 3),
		Numeric: rest&16 != 0,
		Type:    format.Type{Kind: kinds[kind%4], Size: 1 << (size % 5)},
	}
	switch f.Type.Kind {
	case format.Bytes:
		f.Type.Size = int(size)
	case format.Float:
		f.Type.Size = 2 << (size % 3)
	case format.Brain:
		f.Type.Size = 2
	case format.Extended:
		f.Type.Size = []int{10, 12, 16}[size%3]
	case format.UCS:
		f.Type.Size = 4 * int(size%8+1)
	}
	f.Type.BigEndian = rest&1 != 0 && f.Type.Kind != format.Bytes && f.Type.Size > 1
	return f
}

// TestUnitsAreThoseAtTheStart changes GOMAXPROCS, as the command does at its start. The number of
// units, on which plans depend, stays the same.
func TestUnitsAreThoseAtTheStart(t *testing.T) {
	want := New().Info().Units
	for _, procs := range []int{1, 2 * want} {
		before := runtime.GOMAXPROCS(procs)
		if got := New().Info().Units; got != want {
			t.Errorf("%d units with GOMAXPROCS=%d, want %d", got, procs, want)
		}
		runtime.GOMAXPROCS(before)
	}
}
