package pool

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/device/arena"
)

// TestZonesLend has one zone take all blocks: others lend theirs, and each block is given once.
func TestZonesLend(t *testing.T) {
	const blocks = 100
	p, err := New[uint64](blocks, 16, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Memory.Free()
	p.Zones, p.ExtentBlocks = make([]Zone, 3), 8
	p.Reset()
	given := []uint32{p.Take(1, 1), p.Take(2, 1)}
	for range blocks - 2 {
		given = append(given, p.Take(0, 1))
	}
	slices.Sort(given)
	if n := len(slices.Compact(given)); n != blocks || p.Available() != 0 {
		t.Errorf("%d of %d blocks were given, %d are left", n, blocks, p.Available())
	}
	if !p.Zones[1].Lent.Load() || !p.Zones[2].Lent.Load() || p.Zones[0].Lent.Load() {
		t.Errorf("lent: %t, %t, %t", p.Zones[0].Lent.Load(), p.Zones[1].Lent.Load(), p.Zones[2].Lent.Load())
	}
}

// TestPack packs in any order, and in order.
func TestPack(t *testing.T) {
	for _, inOrder := range []bool{false, true} {
		testPack(t, inOrder)
	}
}

func testPack(t *testing.T, inOrder bool) {
	const block = 16
	p, err := New[uint64](100, block, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Memory.Free()
	r := rand.New(rand.NewPCG(5, 6))
	l, want := Empty, []uint64(nil)
	for range 90 {
		b := p.Take(0, 1)
		p.Push(&l, b)
		p.Used[b] = uint32(r.IntN(17))
		for i := range p.Content(b) {
			p.Content(b)[i] = r.Uint64()
		}
		want = append(want, p.Content(b)...)
	}
	before := p.Available()
	l = p.Pack(0, l, inOrder)
	got := gather(p, make([]uint64, len(want)), l)
	if !inOrder {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		t.Fatal("packing changed the elements")
	}
	blocks, partial := 0, 0
	for b := l.Head; b != None; b = p.Next[b] {
		blocks++
		if int(p.Used[b]) < block {
			partial++
		}
	}
	if partial > 1 || int(p.Available()-before) != 90-blocks {
		t.Errorf("%d of %d blocks are not full, %d are free, %d were", partial, blocks, p.Available(), before)
	}
}

// gather copies the elements of l to dst and returns them.
func gather[E arena.Word](p *Pool[E], dst []E, l List) []E {
	n := 0
	for b := l.Head; b != None; b = p.Next[b] {
		n += copy(dst[n:], p.Content(b))
	}
	return dst[:n]
}
