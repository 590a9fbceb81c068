package cpu

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// TestPad converts records of every size to words and back, without writing beyond them.
func TestPad(t *testing.T) {
	for size := 1; size <= maxWhole; size++ {
		if size <= 8 {
			testPad[uint64](t, size)
		} else {
			testPad[[2]uint64](t, size)
		}
	}
}

func testPad[R word](t *testing.T, size int) {
	for n := range 6 {
		recs := make([]byte, n*size)
		for i := range recs {
			recs[i] = byte(i + 1)
		}
		words := make([]R, n)
		pad(words, recs, size)
		for i := range words {
			if got := arena.ByteView(words[i : i+1])[:size]; !bytes.Equal(got, recs[i*size:(i+1)*size]) {
				t.Errorf("%d records of %d bytes: word %d begins with %x", n, size, i, got)
			}
		}
		back := bytes.Repeat([]byte{0xEE}, n*size+20)
		unpad(back[:n*size], words, size)
		if !bytes.Equal(back[:n*size], recs) || !bytes.Equal(back[n*size:], bytes.Repeat([]byte{0xEE}, 20)) {
			t.Errorf("%d records of %d bytes came back as %x", n, size, back)
		}
	}
}

// TestOrderAdmits simulates workers that read units of random sizes in random order. There must
// always be space for the segments of admitted workers, and the segments must end up in input
// order.
func TestOrderAdmits(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		workers, most := 1+r.IntN(5), 0
		most = 3*workers + 4 + r.IntN(5)
		o := order{ends: make([]uint32, most), maxSegments: most}
		o.reset(1, workers)
		type unit struct{ worker, first, n int }
		reading := make([]*unit, workers)
		open := slices.Repeat([]bool{true}, workers)
		at, units := 0, 1+r.IntN(200)
		for claimed := 0; slices.Contains(open, true); {
			i := r.IntN(workers)
			switch {
			case !open[i]:
			case reading[i] != nil:
				u := reading[i]
				reading[i] = nil
				o.noteUnit(i, int64(u.first), int64(u.n))[0]++
			case claimed == units || !o.admit(i):
				open[i] = false
			default:
				claimed++
				reading[i] = &unit{i, at, 1 + r.IntN(3)}
				at += reading[i].n
			}
			if len(o.segments) > most {
				t.Fatalf("%d segments, there is room for %d", len(o.segments), most)
			}
		}
		o.sortSegments()
		end := int64(0)
		for _, s := range o.segments {
			if s.first != end {
				t.Fatalf("a segment begins at %d, the one before ended at %d", s.first, end)
			}
			end = s.end
		}
		if end != int64(at) {
			t.Fatalf("the segments end at %d, %d records were read", end, at)
		}
	}
}

// openChunk creates a chunk, which is closed at the end of the test.
func openChunk(t *testing.T, opt device.ChunkOptions) device.Chunk {
	t.Helper()
	c, err := New().NewChunk(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// newChunkOf creates a chunk for records.
func newChunkOf(t *testing.T, l format.Layout, recs []byte) device.Chunk {
	t.Helper()
	return openChunk(t, device.ChunkOptions{
		Keyer: formattest.KeyerOf(t, l), Records: int64(len(recs) / l.RecordSize),
		BlockBytes: 1000 * l.RecordSize, Workers: 3,
	})
}

// tardySource first delivers one record at a time, so that only the first worker continues. When
// the chunk is nearly full, it delivers late and incompletely, just when the first worker finds
// no space left.
type tardySource struct {
	devicetest.Source
	unit, short int

	mu    sync.Mutex
	calls int
	at    int64
}

func (s *tardySource) Next(limit int, place func(first int64, n int) []byte) (first int64, n int, err error) {
	if limit < s.unit {
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	n = min(limit, len(s.Recs)/s.Size-int(s.at))
	switch {
	case s.calls <= s.short:
		n = min(n, 1)
		time.Sleep(50 * time.Microsecond)
	case limit < s.unit:
		n = min(n, (limit+1)/2)
	}
	first = s.at
	copy(place(first, limit), s.Recs[first*int64(s.Size):][:n*s.Size])
	s.at += int64(n)
	return first, n, nil
}

// TestLoadFillsChunk checks that after Load either the chunk is full or the source has ended,
// although some workers have stopped.
func TestLoadFillsChunk(t *testing.T) {
	const n = 50_001
	l := formattest.Bare(t, "bytes12")
	recs := devicetest.Distributions["uniform"](l, 2*n, rand.New(rand.NewPCG(11, 12)))
	c := newChunkOf(t, l, recs[:n*12]).(*wholePipeline[[2]uint64])
	for short := range 3 * c.sizes.workers * 8 {
		src := tardySource{
			Source: devicetest.Source{Recs: recs, Size: 12, Units: []int{1}},
			unit:   c.sizes.unitRecords,
			short:  short,
		}
		if got, err := c.Load(t.Context(), &src); got != n || err != nil {
			t.Fatalf("%d short deliveries: %d of %d records are loaded: %v", short, got, n, err)
		}
	}
	if got := sortAndStore(t, c, c.sizes.recordBytes); !bytes.Equal(got, devicetest.Sorted(l, recs[:n*12])) {
		t.Error("not sorted")
	}
}

// TestSplitSharesBlocks has one large bucket and several that are slightly too large, in a full
// chunk. No bucket may take the blocks that others need.
func TestSplitSharesBlocks(t *testing.T) {
	l := format.Layout{RecordSize: 16, Key: []format.Field{{Type: format.Type{Kind: format.Unsigned, Size: 8}}}}
	r := rand.New(rand.NewPCG(13, 14))
	const n = 400_000
	recs := make([]byte, 16*n)
	for i := range n {
		key := r.Uint64() // uniform at first, like the sample for the buckets
		switch {
		case i > n/2 && i%2 == 0:
			key = 1<<63 + key>>12 // in the large bucket
		case i > n/2:
			key = key%20<<58 + key>>16
		}
		binary.LittleEndian.PutUint64(recs[16*i:], key)
		binary.LittleEndian.PutUint64(recs[16*i+8:], uint64(i))
	}
	c := newChunkOf(t, l, recs).(*wholePipeline[[2]uint64])
	c.sizes.leafElems = 1500
	if _, err := c.Load(t.Context(), &devicetest.Source{Recs: recs, Size: 16}); err != nil {
		t.Fatal(err)
	}
	if got := sortAndStore(t, c, c.sizes.recordBytes); !bytes.Equal(got, devicetest.Sorted(l, recs)) {
		t.Error("not sorted")
	}
}
