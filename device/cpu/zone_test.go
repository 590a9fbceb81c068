package cpu

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu/pool"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// The types of chunks.
type (
	elementPipeline[E radix.Element] = pipeline[E, E]
	wholePipeline[R word]            = pipeline[uint64, R]
)

// zonedChunk is a chunk with several zones, which normally only a large chunk has.
type zonedChunk struct {
	device.Chunk
	size  int          // bytes of a record
	zones []pool.Zone  // of its pool
	used  func() []int // zones of the leaves
}

// zoned creates a chunk for recs with several zones and small extents.
func zoned(t *testing.T, l format.Layout, recs []byte, zones int) zonedChunk {
	t.Helper()
	made := newChunkOf(t, l, recs)
	z := zonedChunk{Chunk: made, size: l.RecordSize, zones: make([]pool.Zone, zones)}
	switch c := made.(type) {
	case *elementPipeline[uint64]:
		z.used = func() []int { return zonesOf(c.leaves, func(l leaf[uint64]) int { return l.zone }) }
		cutPool(c.pool, z.zones)
	case *elementPipeline[uint32]:
		z.used = func() []int { return zonesOf(c.leaves, func(l leaf[uint32]) int { return l.zone }) }
		cutPool(c.pool, z.zones)
	case *wholePipeline[[2]uint64]:
		z.used = func() []int { return zonesOf(c.leaves, func(l leaf[uint64]) int { return l.zone }) }
		cutPool(c.pool, z.zones)
	default:
		t.Fatalf("%T: what are its zones?", made)
	}
	return z
}

func zonesOf[L any](leaves []L, zone func(L) int) (used []int) {
	for _, l := range leaves {
		used = append(used, zone(l))
	}
	return used
}

func cutPool[E arena.Word](p *pool.Pool[E], zones []pool.Zone) {
	p.Zones, p.ExtentBlocks = zones, max(1, 16<<10/len(arena.ByteView(p.Elems[:p.BlockElems])))
}

func loadAndSort(t *testing.T, c zonedChunk, recs []byte) {
	t.Helper()
	if _, err := c.Load(t.Context(), &devicetest.Source{Recs: recs, Size: c.size}); err != nil {
		t.Fatal(err)
	}
	if err := c.Sort(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// sortAndStore returns the loaded records of a chunk in sorted order. size is the record size in
// bytes.
func sortAndStore(t *testing.T, c device.Chunk, size int) []byte {
	t.Helper()
	w := devicetest.Collector{Size: size}
	if err := errors.Join(c.Sort(t.Context()), c.Store(t.Context(), -1, false, &w)); err != nil {
		t.Fatal(err)
	}
	return w.Written(t)
}

// eachZoned sorts many distributions in chunks of several zones.
func eachZoned(t *testing.T, check func(t *testing.T, c zonedChunk, want []byte)) {
	r := rand.New(rand.NewPCG(3, 4))
	n := 100_000
	if testing.Short() {
		n /= 4
	}
	layouts := map[string]format.Layout{
		"u64": formattest.Bare(t, "u64"), "wide": formattest.Bare(t, "bytes20"), "whole": formattest.Bare(t, "bytes12"),
		"pair": {RecordSize: 8, Key: []format.Field{{Offset: 4, Type: format.Type{Kind: format.Unsigned, Size: 4}}}},
	}
	for name, l := range layouts {
		for dist, make := range devicetest.Distributions {
			t.Run(name+"/"+dist, func(t *testing.T) {
				recs := make(l, n, r)
				c := zoned(t, l, recs, 5)
				for range 2 {
					loadAndSort(t, c, recs)
					check(t, c, devicetest.Sorted(l, recs))
				}
			})
		}
	}
}

// TestDrainZones frees zones while later ones are still being stored.
func TestDrainZones(t *testing.T) {
	eachZoned(t, func(t *testing.T, c zonedChunk, want []byte) {
		w := devicetest.Collector{Size: c.size}
		if err := c.Store(t.Context(), -1, true, &w); err != nil {
			t.Fatal(err)
		}
		if got := w.Written(t); !bytes.Equal(got, want) {
			t.Errorf("%d bytes stored, %d are due", len(got), len(want))
		}
		if kept := heldExtents(c); kept > 0 {
			t.Errorf("%d zones were not given back", kept)
		}
	})
}

// heldExtents returns the number of zones that could have been freed but were not.
func heldExtents(c zonedChunk) int {
	n := 0
	for _, zone := range slices.Compact(c.used()) {
		if z := &c.zones[zone]; !z.Lent.Load() && len(z.Extents) > 0 {
			n++
		}
	}
	return n
}
