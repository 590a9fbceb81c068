//go:build opencl && cgo && linux

package opencl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// TestMain gives PoCL a cache directory that it can write, unless there is one, and a constant
// memory limit.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "extsort-opencl")
	if err != nil {
		panic(err)
	}
	for name, value := range map[string]string{"POCL_CACHE_DIR": folder, "POCL_MEMORY_LIMIT": "4"} {
		given := name == "POCL_CACHE_DIR" && os.Getenv(name) != ""
		if os.Getenv(childVariable) == "" && !given { // a child uses its parent's cache
			os.Setenv(name, value)
		}
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// openFirst opens the first device, or skips the test if there is none.
func openFirst(t testing.TB, opt Options) (device.Device, error) {
	t.Helper()
	d, err := Open(1, opt)
	if errors.Is(err, ErrUnavailable) {
		t.Skip("no OpenCL device to test on: ", err)
	}
	return d, err
}

// open is openFirst, but closes the device at the end of the test.
func open(t testing.TB, opt Options) device.Device {
	t.Helper()
	d, err := openFirst(t, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// memorySource is a Source of records in memory.
type memorySource struct {
	mu   sync.Mutex
	size int
	recs []byte
	at   int64
	open bool // hides how many records will come
}

func (s *memorySource) Next(most int, place func(first int64, n int) []byte) (int64, int, error) {
	s.mu.Lock()
	first := s.at
	n := int(min(int64(most), int64(len(s.recs)/s.size)-first))
	if n == 0 {
		s.mu.Unlock()
		return 0, 0, nil
	}
	s.at += int64(n)
	asked := n
	if s.open {
		asked = most
	}
	dst := place(first, asked)
	s.mu.Unlock()
	copy(dst, s.recs[first*int64(s.size):(first+int64(n))*int64(s.size)])
	return first, n, nil
}

func (s *memorySource) Records() int64 {
	if s.open {
		return -1
	}
	return int64(len(s.recs) / s.size)
}

// sink returns a BlockWriter that writes to memory.
func sink(dst []byte, size int) device.BlockWriter {
	return device.BlockWriterFunc(func(_ context.Context, first int64, recs []byte) error {
		if copy(dst[first*int64(size):], recs) != len(recs) {
			return fmt.Errorf("block from record %d on is outside the output", first)
		}
		return nil
	})
}

func keyer(t testing.TB, size int, fields ...string) *format.Keyer {
	t.Helper()
	layout := format.Layout{RecordSize: size}
	for _, s := range fields {
		f, err := format.ParseField(s)
		if err != nil {
			t.Fatal(err)
		}
		layout.Key = append(layout.Key, f)
	}
	k, err := format.NewKeyer(layout)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// sorted returns the correct result.
func sorted(k *format.Keyer, recs []byte) []byte {
	list := slices.Collect(slices.Chunk(recs, k.Layout().RecordSize))
	slices.SortStableFunc(list, k.Compare)
	return bytes.Join(list, nil)
}

func randomBytes(n int, kind string) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	b := make([]byte, n)
	for i := range b {
		switch kind {
		case "uniform":
			b[i] = byte(r.Uint32())
		case "few":
			b[i] = byte(r.Uint32() & r.Uint32() & r.Uint32() & 0x81)
		}
	}
	return b
}

// sortOn loads, sorts and stores recs with chunk c.
func sortOn(t testing.TB, c device.Chunk, src *memorySource, limit int64) []byte {
	t.Helper()
	ctx := context.Background()
	n, err := c.Load(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Sort(ctx); err != nil {
		t.Fatal(err)
	}
	if limit >= 0 {
		n = min(n, limit)
	}
	out := make([]byte, n*int64(src.size))
	if err := c.Store(ctx, limit, false, sink(out, src.size)); err != nil {
		t.Fatal(err)
	}
	return out
}

var layouts = []struct {
	name   string
	size   int
	fields []string
}{
	{"u8", 1, []string{"0:u8"}},
	{"i16be", 2, []string{"0:i16be"}},
	{"bytes3", 3, []string{"0:bytes3"}},
	{"u32", 4, []string{"0:u32"}},
	{"f32:desc", 4, []string{"0:f32:desc"}},
	{"bytes7:desc", 7, []string{"0:bytes7:desc"}},
	{"u64", 8, []string{"0:u64"}},
	{"i64:desc", 8, []string{"0:i64:desc"}},
	{"f64be", 8, []string{"0:f64be"}},
	{"u128", 16, []string{"0:u128"}},
	{"i128be:desc", 16, []string{"0:i128be:desc"}},
	{"7 bytes", 7, []string{"3:u16be:desc", "0:i8"}},
	{"12 bytes", 12, []string{"8:f32:desc", "0:u64"}},
	{"f16", 2, []string{"0:f16"}},
	{"bf16be desc", 2, []string{"0:bf16be:desc"}},
	{"halves", 7, []string{"1:bf16", "3:f16be:desc"}},
	{"characters", 8, []string{"0:ucs2"}},
	{"characters within", 21, []string{"4:ucs3:desc", "0:ucs1be"}},
	{"overlap", 12, []string{"2:u32", "0:u64be:desc"}},
	{"gensort", 100, []string{"0:bytes10"}},
	{"i24", 3, []string{"0:i24"}},
	{"i40be", 5, []string{"0:i40be:desc"}},
	{"f80", 10, []string{"0:f80"}},
	{"f80 with padding", 16, []string{"0:f80in128:desc"}},
	{"f80 behind padding", 17, []string{"2:f80in96be", "0:i16"}},
	{"three words", 33, []string{"9:bytes9", "0:f64", "20:i32"}},
}

// A device rejects orders that its kernels do not support.
func TestUnsupportedOrders(t *testing.T) {
	d := open(t, Options{})
	f64 := format.Type{Kind: format.Float, Size: 8}
	decimal := format.Type{Kind: format.Packed, Size: 8}
	fields := []format.Field{{Type: f64, Numeric: true}, {Type: f64, NaN: format.NaNLast}, {Type: decimal}}
	for _, field := range fields {
		k, err := format.NewKeyer(format.Layout{RecordSize: 8, Key: []format.Field{field}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.NewChunk(t.Context(), device.ChunkOptions{Keyer: k, Records: 10}); err == nil {
			t.Errorf("%+v: no error", field)
		}
		if Driver.Supports(k.Layout()) == nil {
			t.Errorf("%+v: the driver supports it", field)
		}
	}
}

// The chunk is loaded repeatedly, from sources that know or do not know their size, with sizes
// around that of its slots.
func TestSizesAndReuse(t *testing.T) {
	d := open(t, Options{})
	for _, l := range []string{"0:u32", "4:u32be"} {
		k := keyer(t, map[string]int{"0:u32": 4, "4:u32be": 8}[l], l)
		size := k.Layout().RecordSize
		const memory = 64 << 10 // 16 KiB per slot
		slot := (16 << 10) / size
		c, err := d.NewChunk(context.Background(), device.ChunkOptions{Keyer: k, Records: int64(5 * slot),
			MemoryBytes: memory, Workers: 4})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, n := range []int{0, 1, 2, slot - 1, slot, slot + 1, 4*slot + 3, 5 * slot, 5*slot + 7} {
			recs := randomBytes(n*size, "uniform")
			for _, open := range []bool{false, true} {
				src := &memorySource{size: size, recs: recs, open: open}
				want := sorted(k, recs[:min(n, 5*slot)*size])
				if got := sortOn(t, c, src, -1); !bytes.Equal(got, want) {
					t.Errorf("%v, %d records, open %v: wrong order", k.Layout(), n, open)
				}
				if rest := int64(n) - src.at; rest != int64(max(n-5*slot, 0)) {
					t.Errorf("%v, %d records: %d left in the source", k.Layout(), n, rest)
				}
			}
			if got := sortOn(t, c, &memorySource{size: size, recs: recs}, 3); !bytes.Equal(got, sorted(k, recs[:min(n,
				5*slot)*size])[:min(n, 3)*size]) {
				t.Errorf("%v, %d records: the first 3 are wrong", k.Layout(), n)
			}
		}
	}
}

// A second chunk continues in the source where the first one was full.
func TestSourceOverTwoChunks(t *testing.T) {
	d := open(t, Options{})
	k := keyer(t, 12, "4:u32")
	recs := randomBytes(5000*12, "uniform")
	src := &memorySource{size: 12, recs: recs}
	c, err := d.NewChunk(context.Background(), device.ChunkOptions{Keyer: k, Records: 3000, MemoryBytes: 64 << 10,
		Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, part := range [][]byte{recs[:3000*12], recs[3000*12:]} {
		if got := sortOn(t, c, src, -1); !bytes.Equal(got, sorted(k, part)) {
			t.Error("wrong order")
		}
	}
}

// If one allocation is too small for all records, they are divided into segments.
func TestSegments(t *testing.T) {
	d := open(t, Options{})
	d.(*openDevice).dev.MaxAllocBytes = 40_000
	k := keyer(t, 33, "9:bytes9", "0:f64")
	opt := device.ChunkOptions{Keyer: k, MemoryBytes: 1 << 20, Workers: 3}
	opt.Records = d.MaxRecords(opt, opt.MemoryBytes)
	c, err := d.NewChunk(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	recs := randomBytes(int(opt.Records)*33, "uniform")
	if got := sortOn(t, c, &memorySource{size: 33, recs: recs}, -1); !bytes.Equal(got, sorted(k, recs)) {
		t.Errorf("%d records: wrong order", opt.Records)
	}
	if n := len(c.(*chunk).memory.segments); n < 3 {
		t.Errorf("only %d segments", n)
	}
}

func TestStats(t *testing.T) {
	d := open(t, Options{Algorithm: "split", DigitBits: 4})
	k := keyer(t, 8, "0:u64")
	c, err := d.NewChunk(context.Background(), device.ChunkOptions{Keyer: k, Records: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sortOn(t, c, &memorySource{size: 8, recs: randomBytes(8000, "uniform")}, -1)
	s := c.Stats()
	if s.Records != 1000 || s.Algorithm != "split" || s.Passes != 16 {
		t.Errorf("stats %+v", s)
	}
}

func TestMaxRecords(t *testing.T) {
	for _, l := range layouts {
		k := keyer(t, l.size, l.fields...)
		d := open(t, Options{MemoryBytes: 1 << 20})
		n := d.MaxRecords(device.ChunkOptions{Keyer: k}, 256<<10)
		if most := int64(1<<20) / int64(l.size); n < 1000 || n > most {
			t.Errorf("%s: %d records in 1 MiB", l.name, n)
		}
		if n := d.MaxRecords(device.ChunkOptions{Keyer: k}, int64(l.size)); n != 0 {
			t.Errorf("%s: %d records with no room for a ring", l.name, n)
		}
	}
}
