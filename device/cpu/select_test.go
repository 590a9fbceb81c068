package cpu

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
)

// TestWithin holds the assembly to the loop, in place and from one slice to another.
func TestWithin(t *testing.T) {
	t.Run("u32", testWithin[uint32])
	t.Run("u64", testWithin[uint64])
}

func testWithin[E element](t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for n := range 100 {
		for _, bounds := range [][2]E{{0, ^E(0)}, {0, 0}, {5, 9}, {^E(0), ^E(0)}, {^E(0) - 7, ^E(0) - 2}, {9, ^E(0) - 9}, {1 << 31, 1<<31 + 1}} {
			low, high := bounds[0], bounds[1]
			a := make([]E, n)
			for i := range a { // around the bounds and the ends of the range
				a[i] = []E{low, high, 0, ^E(0), E(r.Uint64())}[r.IntN(5)] + E(r.IntN(5)) - 2
			}
			want := slices.DeleteFunc(slices.Clone(a), func(e E) bool { return e < low || e > high })
			apart := make([]E, n+1)
			if kept := within(apart[:n], a, low, high-low); !slices.Equal(apart[:kept], want) || apart[n] != 0 {
				t.Fatalf("%d elements from %d to %d: %v, want %v", n, low, high, apart[:kept], want)
			}
			if kept := within(a, a, low, high-low); !slices.Equal(a[:kept], want) {
				t.Fatalf("%d elements from %d to %d, in place: %v, want %v", n, low, high, a[:kept], want)
			}
		}
	}
}

// TestShareWorth has memory of 1 GiB on the machines that touching was measured on. Costs are in ns a byte of it.
func TestShareWorth(t *testing.T) {
	const memory = 1 << 30
	for _, c := range []struct {
		name                         string
		touch, again, touched, moved float64 // touched is a share of memory
		least, most                  float64
	}{
		{"EPYC, warm", 0.05, 0.2, 0.1, 0.03, 1, 1},
		{"Xeon", 0.3, 0.17, 0.1, 0.03, 1, 1},
		{"a host that takes pages back", 2, 0.2, 0.1, 0.03, 0.2, 0.34},
		{"the same, later", 2, 0.2, 0.4, 0.12, 0.4, 0.5},
		{"the same, from the middle on", 2, 0.2, 0.5, 0.15, 0.5, 0.5},
		{"the same, at the end", 2, 0.2, 0.95, 0.3, 1, 1},
		{"the same, and the input on a disk", 2, 4, 0.1, 0.03, 1, 1},
		{"nothing costs anything", 0, 0, 0.5, 0, 1, 1},
		{"nothing costs anything but to touch", 1, 0, 0, 0, 1. / 8, 1. / 8},
	} {
		got := shareWorth(costs{touch: c.touch, again: c.again * memory, memory: memory, touched: c.touched * memory, moved: c.moved * memory})
		if got < c.least || got > c.most {
			t.Errorf("%s: a share of %.2f, want %.2f to %.2f", c.name, got, c.least, c.most)
		}
	}
}

// TestSlowMemory loads into memory that is said to be slow, so that the greatest keys are left out after some were loaded. Where most
// keys are counted, or equal, nothing may be asked or done.
func TestSlowMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for _, name := range []string{"u64", "u32"} {
		l := layoutOf(t, name)
		for dist, generate := range devicetest.Distributions {
			t.Run(name+"/"+dist, func(t *testing.T) {
				recs := generate(l, 100_000, r)
				if name == "u64" {
					testSlowMemory[uint64](t, zoned(t, l, recs, 5), recs, l.RecordSize, dist)
				} else {
					testSlowMemory[uint32](t, zoned(t, l, recs, 5), recs, l.RecordSize, dist)
				}
			})
		}
	}
}

func testSlowMemory[E element](t *testing.T, z zonedChunk, recs []byte, size int, dist string) {
	defer z.Close()
	c := z.Chunk.(*chunk[E])
	want := devicetest.Sorted(c.opt.Keyer.Layout(), recs)
	prefixes := make([]uint64, len(want)/size)
	c.opt.Keyer.Prefixes(prefixes, want)
	src := &devicetest.SampledSource{Source: devicetest.Source{Recs: recs, Size: size}, Prefixes: devicetest.Sampled(c.opt.Keyer.Layout(), recs, 4000)}
	asked := 0
	s := newSelection(0, ^E(0))
	s.shareOf = func(c costs) float64 {
		if asked++; c.touched <= 0 || c.memory < c.touched/2 || c.again <= 0 {
			t.Errorf("costs of %+v", c)
		}
		return 0.3
	}
	n, err := c.load(t.Context(), src, s)
	if err != nil {
		t.Fatal(err)
	}
	end := 0
	for end < len(prefixes) && prefixes[end] <= uint64(s.high()) {
		end++
	}
	if n != int64(end) {
		t.Fatalf("%d records were loaded, %d are at most %d", n, end, s.high())
	}
	if asked > 1 || asked == 0 && dist == "uniform" {
		t.Errorf("%d questions about the costs, want one", asked)
	}
	if share := float64(n) / float64(len(prefixes)); dist == "uniform" && (share < 0.2 || share > 0.4) {
		t.Errorf("%.2f of all were loaded, want about 0.3", share)
	}
	if !slices.Equal(sortAndStore(t, c, size), want[:end*size]) {
		t.Error("other records were stored than the least")
	}
	for i := range c.pool.zones {
		if dist == "uniform" && c.pool.release(i) != nil {
			t.Errorf("zone %d gives its memory away, of which another zone may have got blocks", i)
		}
	}
}

// TestSlowMemoryAfterRoom finds memory slow when more has been left out already, as there was no room: what was dropped stays out.
func TestSlowMemoryAfterRoom(t *testing.T) {
	l := layoutOf(t, "u64")
	recs := devicetest.Distributions["uniform"](l, 100_000, rand.New(rand.NewPCG(1, 2)))
	z := zoned(t, l, recs[:20_000*8], 3)
	defer z.Close()
	s := newSelection(0, ^uint64(0))
	s.shareOf = func(costs) float64 { return 1 }
	src := &lateSource{SampledSource: devicetest.SampledSource{
		Source: devicetest.Source{Recs: recs, Size: 8}, Prefixes: devicetest.Sampled(l, recs, 4000),
	}}
	slow := false
	src.read = func(records int64) {
		if !slow && records > 95_000 && s.high() != ^uint64(0) {
			slow, s.share = true, 0.25
			s.interrupt.Store(true)
		}
	}
	n, err := z.Chunk.(*chunk[uint64]).load(t.Context(), src, s)
	if err != nil || !slow {
		t.Fatalf("%v; memory was found slow: %t", err, slow)
	}
	want := int64(0)
	for _, key := range arena.View[uint64](recs) {
		if key <= s.high() {
			want++
		}
	}
	if n != want {
		t.Errorf("%d records were loaded, %d are at most %d", n, want, s.high())
	}
}

// lateSource tells how much of it has been read.
type lateSource struct {
	devicetest.SampledSource
	mu      sync.Mutex
	records int64
	read    func(records int64)
}

func (s *lateSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	first, n, err := s.SampledSource.Next(max, place)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records += int64(n)
	s.read(s.records)
	return first, n, err
}

// TestSelectCounted loads what does not fit, of which most is only counted: more than there is room for at a time, with the greatest left
// out, and each record once.
func TestSelectCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	const records, room = 300_000, 60_000
	for _, name := range []string{"u64", "u32"} {
		l := layoutOf(t, name)
		recs := devicetest.Distributions["uniform"](l, records, r)
		for i := range records {
			if r.IntN(10) < 6 {
				clear(recs[i*l.RecordSize:][:l.RecordSize])
				recs[(i+1)*l.RecordSize-1] = byte(1 + 36*r.IntN(7))
			}
		}
		want := devicetest.Sorted(l, recs)
		k, err := format.NewKeyer(l)
		if err != nil {
			t.Fatal(err)
		}
		made, err := New().NewChunk(t.Context(), device.ChunkOptions{Keyer: k, Records: room, BlockBytes: 1000 * l.RecordSize, Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		defer made.Close()
		c := made
		beyond := false
		low, at := uint64(0), 0
		for pass := 0; at < len(want); pass++ {
			src := &devicetest.SampledSource{Source: devicetest.Source{Recs: recs, Size: l.RecordSize}, Prefixes: devicetest.Sampled(l, recs, 5000)}
			n, last, err := c.Select(t.Context(), src, low, math.MaxUint64>>(64-k.PrefixBits()))
			if err != nil {
				t.Fatal(err)
			}
			stored := sortAndStore(t, c, l.RecordSize)
			end := at + int(n)*l.RecordSize
			if end > len(want) || !bytes.Equal(stored, want[at:end]) || n-c.Stats().Counted > room || pass > 8 {
				t.Fatalf("%s, pass %d: %d records from %d to %d, %d of them counted, are not those that follow", name, pass, n, low, last, c.Stats().Counted)
			}
			beyond = beyond || n > room
			low, at = last+1, end
		}
		if !beyond {
			t.Errorf("%s: what is only counted took room", name)
		}
	}
}

// TestTouching counts each byte once, and judges by the median.
func TestTouching(t *testing.T) {
	var nobody *touching
	nobody.first(make([]byte, 1), 1, 1)
	nobody.forget()
	touch := &touching{}
	memory := make([]byte, 20_000)
	for range 2 {
		for i := int64(1); i <= judgedExtents; i++ {
			touch.first(memory, 100_000, i)
		}
	}
	if pace, bytes := touch.pace(); pace <= 0 || bytes != judgedExtents*100_000 {
		t.Errorf("%f ns a byte of %d", pace, bytes)
	}
	if pace, _ := touch.pace(); pace != 0 {
		t.Errorf("%f ns a byte of none", pace)
	}
	touch.recent = []float64{1, 1, 1, 1, 1, 900, 900, 900}
	if pace, _ := touch.pace(); pace != 1 {
		t.Errorf("%f ns a byte where most took 1", pace)
	}
	if touch.forget(); !touch.enter(1, 1) {
		t.Error("what was given back need not be touched again")
	}
}

// TestPaceOf tells huge pages from others.
func TestPaceOf(t *testing.T) {
	const page, extent = 4096, 2 << 20
	for _, c := range []struct {
		one, rest time.Duration
		others    int
		want      float64
	}{
		{extent / 10, 100, 3, 0.1}, // a huge page
		{2 * extent, 500, 3, 2},    // one that the host had taken
		{page, 3 * page, 3, 1},     // pages of 4 KiB
		{3 * page, page, 3, 1},     // of which the first took longest
		{extent / 10, 0, 0, 0.1},   // a block of less than a page
	} {
		if got := paceOf(c.one, c.rest, c.others, page, extent); got < c.want*0.99 || got > c.want*1.01 {
			t.Errorf("%v and %v for %d more pages: %.3f ns a byte, want %.3f", c.one, c.rest, c.others, got, c.want)
		}
	}
}
