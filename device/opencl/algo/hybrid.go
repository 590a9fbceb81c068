//go:build opencl && cgo && linux

package algo

import (
	"fmt"

	"github.com/extsort/extsort/device/opencl/cl"
)

// newHybrid makes onesweep with the shortcut of hybrid.cl: keys alone that the sample shows to be spread evenly are
// partitioned from the most significant bits on and finished in local memory.
func newHybrid(ctx *cl.Context, dev *cl.Device, p Params) (Sorter, error) {
	if err := hybridShape(dev, p, 4).check(dev, 4); err != nil {
		return nil, fmt.Errorf("hybrid: %w", err)
	}
	made, err := newOnesweep(ctx, dev, Params{LeadingKeys: p.LeadingKeys, Wide: p.Wide})
	if err != nil {
		return nil, err
	}
	x := made.(*radix)
	x.p, x.hybrid = p, true
	return x, nil
}

// hybridGeometry is the shape of the partitions and that of the finish, whose digit is the bin.
type hybridGeometry struct{ partition, finish geometry }

func hybridShape(dev *cl.Device, p Params, wordBytes int) hybridGeometry {
	g := geometry{groupSize: min(512, dev.MaxGroup), items: 20, digitBits: 9}
	if wordBytes == 8 {
		g.items = 10
	}
	override(&g.groupSize, p.GroupSize)
	override(&g.items, p.Items)
	for g.digitBits > 1 && 1<<g.digitBits > g.groupSize {
		g.digitBits--
	}
	override(&g.digitBits, p.DigitBits)
	f := geometry{groupSize: min(256, dev.MaxGroup), items: 16, digitBits: 11}
	for f.digitBits > 1 && 1<<f.digitBits > 8*f.groupSize {
		f.digitBits--
	}
	h := hybridGeometry{partition: g, finish: f}
	for p.Items == 0 && h.partition.items > 1 && h.partitionBytes(wordBytes) > dev.LocalBytes {
		h.partition.items--
	}
	for h.finish.items > 1 && h.finishBytes(wordBytes) > dev.LocalBytes {
		h.finish.items--
	}
	return h
}

func (h hybridGeometry) partitionBytes(wordBytes int) int64 {
	return max(int64(wordBytes)*h.partition.tile(), 8*h.partition.radix()) + 8*h.partition.radix()
}

func (h hybridGeometry) finishBytes(wordBytes int) int64 {
	words := h.finish.radix() / 2
	return int64(wordBytes)*h.finish.tile() + 4*(words+int64(h.finish.groupSize)+1) + 8*int64(h.finish.groupSize)
}

func (h hybridGeometry) check(dev *cl.Device, wordBytes int) error {
	g := h.partition
	switch {
	case g.digitBits < 1 || g.digitBits > 10:
		return fmt.Errorf("digits of %d bits: use 1 to 10", g.digitBits)
	case g.items < 1 || g.items > 64:
		return fmt.Errorf("%d keys per work-item: use 1 to 64", g.items)
	case int64(g.groupSize) < g.radix() || g.groupSize > dev.MaxGroup:
		return fmt.Errorf("work-groups of %d: use %d to %d", g.groupSize, g.radix(), dev.MaxGroup)
	case max(h.partitionBytes(wordBytes), h.finishBytes(wordBytes)) > dev.LocalBytes:
		return fmt.Errorf("%d work-items with %d keys of %d bytes: need %d bytes of local memory, of which there are %d",
			g.groupSize, g.items, wordBytes, h.partitionBytes(wordBytes), dev.LocalBytes)
	}
	return nil
}

// hybrid are the kernels for one variant.
type hybrid struct {
	hybridGeometry
	from                                    int64
	clear, count, scan, tiles, move, finish *cl.Kernel
}

// hybridFrom is the fewest keys that are worth its many launches.
const hybridFrom = 1 << 22

const hybridCountTiles = 8

func buildHybrid(b *builder, p Params) *hybrid {
	dev := b.ctx.Device()
	h := &hybrid{hybridGeometry: hybridShape(dev, p, b.v.wordBytes), from: hybridFrom}
	if p.LeadingKeys > 0 {
		h.from = p.LeadingKeys
	}
	if err := h.check(dev, b.v.wordBytes); err != nil && b.err == nil {
		b.err = err
	}
	made := b.program(h.partition, cl.Defines{"COUNT_TILES": hybridCountTiles}, "hybrid")
	h.clear, h.count, h.scan = made.kernel("hybrid_clear"), made.kernel("hybrid_count"), made.kernel("hybrid_scan")
	h.tiles, h.move = made.kernel("hybrid_tiles"), made.kernel("hybrid_move")
	h.finish = b.program(h.hybridGeometry.finish, nil, "hybrid_finish").kernel("hybrid_finish")
	return h
}

// plan chooses the bits, or reports false where another sort is to be used.
func (h *hybrid) plan(d *Data, seen sampled, fromBit, toBit int) (hybridPlan, bool) {
	if h == nil || d.N < h.from || len(seen.keys) == 0 || fromBit > 0 || toBit < d.KeyBits {
		return hybridPlan{}, false
	}
	bits := 2
	for d.N>>bits > h.hybridGeometry.finish.tile()/2 {
		bits++
	}
	p := hybridPlan{top: seen.top(), first: bits - bits/2, second: bits / 2}
	if p.first > h.partition.digitBits || p.top <= bits {
		return p, false
	}
	p.bins = min(h.hybridGeometry.finish.digitBits, p.top-bits)
	room := float64(h.hybridGeometry.finish.tile()) * float64(int64(1)<<bits) / float64(d.N)
	return p, seen.spread(p, room)
}

// sort partitions twice and finishes. It reports false when that was not possible: what is there then is a permutation of
// the keys.
func (h *hybrid) sort(r *run, seen sampled, fromBit, toBit int) bool {
	p, ok := h.plan(r.d, seen, fromBit, toBit)
	if !ok {
		return false
	}
	n, g := uint32(r.d.N), h.partition
	buckets, parts := int64(1)<<p.first, int64(1)<<(p.first+p.second)
	tiles0 := g.groupsFor(r.d.N)
	tiles1 := tiles0 + buckets
	state := r.buffer("hybrid state", 4)
	counts := [2]*cl.Buffer{r.buffer("hybrid counts", 4*buckets), r.buffer("hybrid counts 1", 4*parts)}
	starts := [2]*cl.Buffer{r.buffer("hybrid starts", 4*(buckets+1)), r.buffer("hybrid starts 1", 4*(parts+1))}
	tileStarts := r.buffer("hybrid tile starts", 4*(buckets+1))
	tiles := r.buffer("hybrid tiles", 16*tiles1)

	r.launch(h.clear, min(256, (parts+int64(g.groupSize)-1)/int64(g.groupSize)), g.groupSize, counts[0], counts[1], state, uint32(buckets), uint32(parts))
	from, to := r.d.Keys, r.d.KeysTmp
	for level, count := range []int64{tiles0, tiles1} {
		bits, groups := uint32(p.first), int64(1)
		if level == 1 {
			bits, groups = uint32(p.second), buckets
			r.launch(h.tiles, buckets+1, g.groupSize, tiles, starts[0], tileStarts, uint32(count))
		}
		shift, lvl := uint32(p.shift(level)), uint32(level)
		r.launch(h.count, (count+hybridCountTiles-1)/hybridCountTiles, g.groupSize, from, counts[level], tiles, state, n, lvl, uint32(count), shift, bits, uint32(p.top))
		r.launch(h.scan, groups, g.groupSize, counts[level], starts[0], starts[level], tileStarts, n, lvl, bits)
		r.launch(h.move, count, g.groupSize, from, to, counts[level], tiles, n, lvl, shift, bits)
		from, to = to, from
	}
	r.launch(h.finish, parts, h.hybridGeometry.finish.groupSize, r.d.Keys, starts[1], state, uint32(p.binShift()), uint32(1)<<p.bins-1)
	r.d.Passes += 3
	return r.words(state, 1)[0] == 0 || r.err != nil
}
