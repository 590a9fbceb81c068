package cpu

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/device"
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

// TestSelectFrequent loads what does not fit, of which most is a few keys that are counted, each record once.
func TestSelectFrequent(t *testing.T) {
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
		low, at := uint64(0), 0
		for pass := 0; at < len(want); pass++ {
			src := &devicetest.SampledSource{Source: devicetest.Source{Recs: recs, Size: l.RecordSize}, Prefixes: devicetest.Sampled(l, recs, 5000)}
			n, last, err := c.Select(t.Context(), src, low, math.MaxUint64>>(64-k.PrefixBits()))
			if err != nil {
				t.Fatal(err)
			}
			stored := sortAndStore(t, c, l.RecordSize)
			end := at + int(n)*l.RecordSize
			if end > len(want) || !bytes.Equal(stored, want[at:end]) || n > room || pass > 20 {
				t.Fatalf("%s, pass %d: %d records from %d to %d, %d of them counted, are not those that follow", name, pass, n, low, last, c.Stats().Counted)
			}
			low, at = last+1, end
		}
	}
}
