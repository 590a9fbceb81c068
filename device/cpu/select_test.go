package cpu

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format/formattest"
)

// TestSelectFrequent loads more records than fit. Most of them have a few frequent keys, which
// are counted. No record may be lost or duplicated.
func TestSelectFrequent(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	const records, room = 300_000, 60_000
	for _, name := range []string{"u64", "u32"} {
		l := formattest.Bare(t, name)
		recs := devicetest.Distributions["uniform"](l, records, r)
		for i := range records {
			if r.IntN(10) < 6 {
				clear(recs[i*l.RecordSize:][:l.RecordSize])
				recs[(i+1)*l.RecordSize-1] = byte(1 + 36*r.IntN(7))
			}
		}
		want := devicetest.Sorted(l, recs)
		k := formattest.KeyerOf(t, l)
		made := openChunk(t, device.ChunkOptions{Keyer: k, Records: room,
			BlockBytes: 1000 * l.RecordSize, Workers: 3})
		c := made
		low, at := uint64(0), 0
		for pass := 0; at < len(want); pass++ {
			src := &devicetest.SampledSource{Source: devicetest.Source{Recs: recs, Size: l.RecordSize},
				Prefixes: devicetest.Sampled(l, recs, 5000)}
			n, last, err := c.Select(t.Context(), src, low, math.MaxUint64>>(64-k.PrefixBits()))
			if err != nil {
				t.Fatal(err)
			}
			stored := sortAndStore(t, c, l.RecordSize)
			end := at + int(n)*l.RecordSize
			if end > len(want) || !bytes.Equal(stored, want[at:end]) || n > room || pass > 20 {
				t.Fatalf("%s, pass %d: %d records from %d to %d, %d of them counted, are not those that follow", name, pass, n,
					low, last, countedIn(c))
			}
			low, at = last+1, end
		}
	}
}

// TestSelectNarrow selects ranges with slightly more records than fit. Each range has 0.8 percent of
// all records, and so few keys of the sample. Select has to divide the range nevertheless, to find
// the part of it that fits.
func TestSelectNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 74))
	const records, room, ranges = 1_500_000, 10_000, 125
	l := formattest.Bare(t, "u64")
	recs := devicetest.Distributions["uniform"](l, records, r)
	k := formattest.KeyerOf(t, l)
	c := openChunk(t, device.ChunkOptions{Keyer: k, Records: room, BlockBytes: 8000, Workers: 2})

	const width = math.MaxUint64 / ranges
	for i := range uint64(20) {
		src := &devicetest.SampledSource{Source: devicetest.Source{Recs: recs, Size: 8},
			Prefixes: devicetest.Sampled(l, recs, 1<<14)}
		n, last, err := c.Select(t.Context(), src, i*width, (i+1)*width-1)
		if err != nil {
			t.Fatalf("range %d: %v", i, err)
		}
		if n > room || n < room/4 || last >= (i+1)*width-1 {
			t.Errorf("range %d: %d records up to %d, want %d to %d", i, n, last, room/4, room)
		}
	}
}
