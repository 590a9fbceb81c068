package cpu

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
)

// zoned makes a chunk for recs with zones and extents as only large chunks have them.
func zoned(t *testing.T, l format.Layout, recs []byte, zones int) *chunk[uint64] {
	t.Helper()
	k, err := format.NewKeyer(l)
	if err != nil {
		t.Fatal(err)
	}
	made, err := New().NewChunk(t.Context(), device.ChunkOptions{
		Keyer: k, Records: int64(len(recs) / l.RecordSize), BlockBytes: 1000 * l.RecordSize, Workers: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := made.(*chunk[uint64])
	c.pool.zones, c.pool.extent = make([]zone, zones), max(1, 16<<10/(c.sizes.block*c.element))
	return c
}

func loadAndSort(t *testing.T, c *chunk[uint64], recs []byte) {
	t.Helper()
	if _, err := c.Load(t.Context(), &devicetest.Source{Recs: recs, Size: c.record}); err != nil {
		t.Fatal(err)
	}
	if err := c.Sort(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// eachZoned sorts many distributions in chunks of several zones.
func eachZoned(t *testing.T, check func(t *testing.T, c *chunk[uint64], recs, want []byte)) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, l := range map[string]format.Layout{"u64": layoutOf(t, "u64"), "wide": layoutOf(t, "bytes12")} {
		for dist, make := range devicetest.Distributions {
			t.Run(name+"/"+dist, func(t *testing.T) {
				recs := make(l, 100_000, r)
				c := zoned(t, l, recs, 5)
				defer c.Close()
				for range 2 {
					loadAndSort(t, c, recs)
					check(t, c, recs, devicetest.Sorted(l, recs))
				}
			})
		}
	}
}

func layoutOf(t *testing.T, name string) format.Layout {
	t.Helper()
	typ, err := format.ParseType(name)
	if err != nil {
		t.Fatal(err)
	}
	return format.Bare(typ)
}

// TestDrainZones gives zones back while later ones are still to be stored.
func TestDrainZones(t *testing.T) {
	eachZoned(t, func(t *testing.T, c *chunk[uint64], _, want []byte) {
		w := devicetest.Collector{Size: c.record}
		if err := c.Drain(t.Context(), -1, &w); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Recs(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes stored, %d are due: %v", len(got), len(want), err)
		}
		if kept := heldExtents(c); kept > 0 {
			t.Errorf("%d zones were not given back", kept)
		}
	})
}

// TestDrainGivesMemory has a writer that takes the memory of zones over: later records lie in it, and none twice.
func TestDrainGivesMemory(t *testing.T) {
	taken := 0
	eachZoned(t, func(t *testing.T, c *chunk[uint64], _, want []byte) {
		w := devicetest.Taker{Collector: devicetest.Collector{Size: c.record}}
		if err := c.Drain(t.Context(), -1, &w); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Recs(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes stored, %d are due: %v", len(got), len(want), err)
		}
		taken += w.TakenBytes()
	})
	if taken == 0 {
		t.Error("no memory was ever given away")
	}
}

// TestRenewedAfterGiving: what a writer may still refer to is not loaded into.
func TestRenewedAfterGiving(t *testing.T) {
	l := layoutOf(t, "u64")
	recs := devicetest.Distributions["uniform"](l, 100_000, rand.New(rand.NewPCG(5, 6)))
	c := zoned(t, l, recs, 5)
	defer c.Close()
	loadAndSort(t, c, recs)
	before := c.pool.memory
	if err := c.Drain(t.Context(), -1, &devicetest.Taker{Collector: devicetest.Collector{Size: 8}}); err != nil {
		t.Fatal(err)
	}
	loadAndSort(t, c, recs)
	if c.pool.memory == before {
		t.Error("the memory is the one that a writer took over")
	}
	if &c.pool.elems[0] != &c.pool.memory.Uint64s()[0] {
		t.Error("blocks are not of the new memory")
	}
}

// heldExtents is the number of zones that could have been given back and were not.
func heldExtents(c *chunk[uint64]) int {
	used := make([]bool, len(c.pool.zones))
	for _, l := range c.leaves {
		used[l.zone] = true
	}
	n := 0
	for i := range c.pool.zones {
		if z := &c.pool.zones[i]; used[i] && !z.lent && len(z.extents) > 0 {
			n++
		}
	}
	return n
}

// TestZonesLend has one zone take all blocks: others lend theirs, and each block is given once.
func TestZonesLend(t *testing.T) {
	s := sizes{element: 8, block: 16, blocks: 100}
	p, err := newPool[uint64](&s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.memory.Free()
	p.zones, p.extent = make([]zone, 3), 8
	p.reset()
	given := []uint32{p.take(1), p.take(2)}
	for range s.blocks - 2 {
		given = append(given, p.take(0))
	}
	slices.Sort(given)
	if n := len(slices.Compact(given)); n != s.blocks || p.available() != 0 {
		t.Errorf("%d of %d blocks were given, %d are left", n, s.blocks, p.available())
	}
	if !p.zones[1].lent || !p.zones[2].lent || p.zones[0].lent {
		t.Errorf("lent: %t, %t, %t", p.zones[0].lent, p.zones[1].lent, p.zones[2].lent)
	}
}
